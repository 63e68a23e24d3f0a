// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/mma/step_rules.h"
#include "sim/cli/commands.h"
#include "sim/cli/comparison_options.h"
#include "sim/cli/output.h"
#include "sim/compare/capture/capture_crosscheck.h"
#include "sim/compare/kernel/kernel_crosscheck.h"
#include "sim/compare/kernel/kernel_file.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string directory;
  std::string kernel;
  std::string arch;
  std::string fidelity = "analytic";
  ComparisonOptions common;
};

int host_threads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

int check_kernel(const Arguments& arguments) {
  const compare::kernel::KernelCase kernel = compare::kernel::read_kernel_file(arguments.kernel);
  const compare::kernel::KernelDiagnosis diagnosis = compare::kernel::crosscheck_kernel(
      kernel.data, kernel.declared, kernel.target, host_threads());
  write_result(arguments.common.out, arguments.common.is_json()
                                         ? compare::kernel::kernel_json(kernel, diagnosis)
                                         : compare::kernel::kernel_text(kernel, diagnosis));
  return diagnosis.bit_exact() ? 0 : 1;
}

int check_capture(const Arguments& arguments) {
  const compare::capture::CaptureCrosscheck result = compare::capture::crosscheck_capture(
      arguments.directory, {arguments.arch, run::parse_fidelity(arguments.fidelity),
                            mma::parse_profile(arguments.common.profile), host_threads()});
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
                   "one GEMM of your kernel: operands, D, and what it is said to be; diagnosed")
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
