// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/step_rules.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/config/text_file.h"
#include "sim/crosscheck/capture.h"
#include "sim/crosscheck/capture_crosscheck.h"
#include "sim/crosscheck/gemm_times.h"
#include "sim/crosscheck/kernel_crosscheck.h"
#include "sim/crosscheck/kernel_file.h"
#include "sim/microbench/microbench.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace sptc::sim {
namespace {

struct Arguments {
  std::string directory;
  std::string kernel;
  std::string arch;
  std::string profile = "hardware";
  std::string format = "text";
  std::string out;
};

int check_kernel(const Arguments& arguments, bool is_json) {
  const KernelCase kernel = read_kernel_file(arguments.kernel);
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const KernelDiagnosis diagnosis =
      crosscheck_kernel(kernel.data, kernel.declared, kernel.target, threads);
  write_result(arguments.out,
               is_json ? kernel_json(kernel, diagnosis) : kernel_text(kernel, diagnosis));
  return diagnosis.bit_exact() ? 0 : 1;
}

int check_capture(const Arguments& arguments, bool is_json) {
  const mma::Profile profile = mma::parse_profile(arguments.profile);
  const Capture capture = read_capture(arguments.directory);
  const std::string architecture =
      arguments.arch.empty() ? architecture_of(capture) : arguments.arch;
  TimeSimulation simulation;
  std::optional<Microbench> microbench;
  if (architecture.empty()) {
    simulation.reason =
        "no architecture of this simulator is a " + printable(capture.gpu) + "; --arch names one";
  } else {
    const Architecture loaded = load_architecture(architecture);
    simulation.architecture = loaded.gpu.name;
    if (!capture.gemm.empty()) {
      simulation.gemm_times = simulate_gemm_times(loaded, capture.gemm);
    }
    if (!capture.microbench.empty() || !capture.memory.empty()) {
      microbench.emplace(loaded.gpu);
      simulation.microbench = [&](const MicrobenchCase& which) { return microbench->run(which); };
    }
  }
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const CaptureCrosscheck result = crosscheck_capture(capture, profile, simulation, threads);
  write_result(arguments.out, is_json ? capture_json(result) : capture_text(result));
  return result.mismatches() == 0 ? 0 : 1;
}

int run(const Arguments& arguments) {
  constexpr std::array<std::string_view, 2> kFormats{"text", "json"};
  const bool is_json = arguments.format == kFormats[1];
  if (!is_json && arguments.format != kFormats[0]) {
    throw InputError("unknown format " + unknown_name(printable(arguments.format), kFormats));
  }
  if (arguments.directory.empty() == arguments.kernel.empty()) {
    throw InputError("crosscheck: either a capture directory or --kernel FILE is needed");
  }
  if (!arguments.out.empty()) {
    require_writable("--out", arguments.out);
  }
  if (arguments.kernel.empty()) {
    return check_capture(arguments, is_json);
  }
  if (!arguments.arch.empty() || arguments.profile != "hardware") {
    throw InputError(
        "crosscheck --kernel: --arch and --profile are of captures; the kernel file "
        "names its architecture");
  }
  return check_kernel(arguments, is_json);
}

}  // namespace

void add_crosscheck_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "crosscheck", "compare a capture of a GPU, or the result of your own kernel, bit for bit");
  command->add_option("DIR", arguments->directory, "capture of a GPU (tests/hardware/CAPTURE.md)")
      ->type_name("DIR");
  command
      ->add_option("--kernel", arguments->kernel,
                   "one GEMM of your kernel: operands, D, and what it is said to be; diagnosed")
      ->type_name("FILE");
  command
      ->add_option("--arch", arguments->arch,
                   "architecture whose times are simulated (default: by the name of the GPU)")
      ->type_name("NAME|FILE");
  command
      ->add_option("--profile", arguments->profile,
                   "hardware: the models tuned against GPUs; mma-sim: MMA-Sim, word for word")
      ->type_name("hardware|mma-sim")
      ->capture_default_str();
  command->add_option("--format", arguments->format, "of the report")
      ->type_name("text|json")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write the report to FILE instead of stdout")
      ->type_name("FILE");
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::sim
