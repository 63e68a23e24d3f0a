// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/mma/step_rules.h"
#include "sim/cli/commands.h"
#include "sim/cli/comparison_options.h"
#include "sim/cli/output.h"
#include "sim/compare/capture/capture.h"
#include "sim/compare/capture/capture_crosscheck.h"
#include "sim/compare/capture/gemm_simulation.h"
#include "sim/compare/kernel/kernel_crosscheck.h"
#include "sim/compare/kernel/kernel_file.h"
#include "sim/compare/kernel/mismatch_map.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/microbench/microbench.h"
#include "sim/run/option_values.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string directory;
  std::string kernel;
  std::string d, launch, entry, map;
  std::string arch;
  std::string fidelity = "analytic";
  ComparisonOptions common;
};

int check_kernel(const Arguments& arguments) {
  compare::kernel::KernelChoice choice{arguments.launch, arguments.d};
  if (!arguments.entry.empty()) {
    constexpr int kMostEntries = 1 << 24;
    choice.entry =
        static_cast<int>(run::parse_integer("--entry", arguments.entry, 0, kMostEntries));
  }
  std::optional<compare::kernel::MapFormat> map_format;
  if (!arguments.map.empty()) {
    map_format = compare::kernel::map_format(arguments.map);
    require_writable("--map", arguments.map);
  }
  const compare::kernel::KernelCase kernel =
      compare::kernel::read_kernel_file(arguments.kernel, choice);
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const compare::kernel::KernelDiagnosis diagnosis =
      compare::kernel::crosscheck_kernel(kernel.data, kernel.declared, kernel.target, threads);
  if (map_format) {
    write_result(arguments.map, compare::kernel::map_image(kernel, diagnosis, *map_format));
  }
  write_result(arguments.common.out, arguments.common.is_json()
                                         ? compare::kernel::kernel_json(kernel, diagnosis)
                                         : compare::kernel::kernel_text(kernel, diagnosis));
  return diagnosis.bit_exact() ? 0 : 1;
}

int check_capture(const Arguments& arguments) {
  const run::Fidelity fidelity = run::parse_fidelity(arguments.fidelity);
  if (fidelity == run::Fidelity::kDatapath) {
    throw base::InputError("--fidelity: measured times are compared with timing or analytic");
  }
  const mma::Profile profile = mma::parse_profile(arguments.common.profile);
  const compare::capture::Capture capture = compare::capture::read_capture(arguments.directory);
  const std::string architecture =
      arguments.arch.empty() ? compare::capture::architecture_of(capture) : arguments.arch;
  compare::capture::TimeSimulation simulation;
  std::optional<microbench::Microbench> microbench;
  if (architecture.empty()) {
    simulation.reason = "no architecture of this simulator is a " + io::printable(capture.gpu) +
                        "; --arch names one";
  } else {
    const config::Architecture loaded = config::load_architecture(architecture);
    simulation.architecture = loaded.gpu.name;
    if (!capture.gemm.empty() || !capture.power.empty()) {
      simulation.gemms = compare::capture::simulate_gemms(loaded, capture, fidelity);
    }
    if (!capture.microbench.empty() || !capture.memory.empty()) {
      microbench.emplace(loaded.gpu);
      simulation.microbench = [&](const microbench::MicrobenchCase& which) {
        return microbench->run(which);
      };
      simulation.chase_cycles = [&](std::int64_t footprint, std::int64_t stride) {
        return microbench->memory().chase_cycles(footprint, stride);
      };
      simulation.line_cycles = [&] { return microbench->memory().line_cycles(); };
      simulation.bandwidth_gb_per_s = [&](microbench::BandwidthOperation operation,
                                          std::int64_t footprint) {
        return microbench->memory().bandwidth_gb_per_s(operation, footprint);
      };
      // L1 and shared memory are one array, of which the L1 has what is left over.
      simulation.l1_reach_bytes = 2 * loaded.gpu.sm.shared_memory.count();
    }
  }
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const compare::capture::CaptureCrosscheck result =
      compare::capture::crosscheck_capture(capture, profile, simulation, threads);
  write_result(arguments.common.out, arguments.common.is_json()
                                         ? compare::capture::capture_json(result)
                                         : compare::capture::capture_text(result));
  return result.mismatches() == 0 ? 0 : 1;
}

int run(const Arguments& arguments) {
  arguments.common.require_valid();
  if (arguments.directory.empty() == arguments.kernel.empty()) {
    throw base::InputError("crosscheck: either a capture directory or --kernel FILE is needed");
  }
  if (arguments.kernel.empty()) {
    for (const auto& [option, value] : {std::pair{"--d", &arguments.d},
                                        {"--launch", &arguments.launch},
                                        {"--entry", &arguments.entry},
                                        {"--map", &arguments.map}}) {
      if (!value->empty()) {
        throw base::InputError(std::string("crosscheck: ") + option + " is of --kernel");
      }
    }
    return check_capture(arguments);
  }
  const Arguments defaults;
  if (!arguments.arch.empty() || arguments.common.profile != defaults.common.profile ||
      arguments.fidelity != defaults.fidelity) {
    throw base::InputError(
        "crosscheck --kernel: --arch, --profile and --fidelity are of captures; the kernel file "
        "names its architecture");
  }
  return check_kernel(arguments);
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
                   "one GEMM of your kernel: operands, D, and what it is said to be (.json), or "
                   "the .npz of --save-operands; diagnosed")
      ->type_name("FILE");
  command
      ->add_option("--d", arguments->d, "of --kernel: D of your kernel (.npy, .npz, .safetensors)")
      ->type_name("FILE");
  command
      ->add_option("--launch", arguments->launch, "of --kernel: which launch of a .npz of several")
      ->type_name("NAME");
  command
      ->add_option("--entry", arguments->entry, "of --kernel: which GEMM of a batch (default: 0)")
      ->type_name("N");
  command
      ->add_option("--map", arguments->map,
                   "of --kernel: write an image of where D differs (.svg, .png)")
      ->type_name("FILE");
  command
      ->add_option("--arch", arguments->arch,
                   "architecture whose times are simulated (default: by the name of the GPU)")
      ->type_name("NAME|FILE");
  command
      ->add_option("--fidelity", arguments->fidelity,
                   "of the simulated GEMMs: closed form, or SystemC with a few SMs for all")
      ->type_name("analytic|timing")
      ->capture_default_str();
  arguments->common.add_to(*command);
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::cli
