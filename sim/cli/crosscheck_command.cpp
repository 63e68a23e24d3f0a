// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/mma/step_rules.h"
#include "sim/check/capture/capture_crosscheck.h"
#include "sim/check/kernel/kernel_crosscheck.h"
#include "sim/check/kernel/kernel_file.h"
#include "sim/check/vectors/verify.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/report/crosscheck_page.h"
#include "sim/run/option_values.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string directory;
  std::string kernel;
  std::string d, launch, entry, html;
  std::string arch, instruction, k_order, tolerance;
  std::string fidelity = "analytic";
  ComparisonOptions common;
};

int host_threads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

int check_kernel(const Arguments& arguments) {
  check::kernel::KernelChoice choice{arguments.launch, arguments.d};
  choice.arch = arguments.arch;
  choice.instruction = arguments.instruction;
  choice.k_order = arguments.k_order;
  choice.tolerance = arguments.tolerance;
  if (!arguments.entry.empty()) {
    constexpr int kMostEntries = 1 << 24;
    choice.entry = static_cast<int>(run::parse_integer("--entry", arguments.entry, 0, kMostEntries));
  }
  require_writable_text("--html", arguments.html);
  const check::kernel::KernelCase kernel = check::kernel::read_kernel_file(arguments.kernel, choice);
  const check::kernel::KernelDiagnosis diagnosis =
      check::kernel::crosscheck_kernel(kernel.data, kernel.declared, kernel.target, host_threads(), kernel.tolerance);
  write_if_asked(arguments.html, [&] { return report::crosscheck_page(kernel, diagnosis, command_line()); });
  write_result(arguments.common.out, arguments.common.is_json() ? check::kernel::kernel_json(kernel, diagnosis)
                                                                : check::kernel::kernel_text(kernel, diagnosis));
  return diagnosis.is_right() ? 0 : 1;
}

int check_capture(const Arguments& arguments) {
  const check::capture::CaptureCrosscheck result = check::capture::crosscheck_capture(
      arguments.directory, {arguments.arch, run::parse_word<run::Fidelity>(arguments.fidelity),
                            mma::parse_profile(arguments.common.profile), host_threads()});
  write_result(arguments.common.out, arguments.common.is_json() ? check::capture::capture_json(result)
                                                                : check::capture::capture_text(result));
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
                                        {"--html", &arguments.html},
                                        {"--instruction", &arguments.instruction},
                                        {"--k-order", &arguments.k_order},
                                        {"--tolerance", &arguments.tolerance}}) {
      if (!value->empty()) {
        throw base::InputError(std::string("crosscheck: ") + option + " needs --kernel FILE");
      }
    }
    return check_capture(arguments);
  }
  const Arguments defaults;
  if (arguments.common.profile != defaults.common.profile || arguments.fidelity != defaults.fidelity) {
    throw base::InputError("crosscheck --kernel: --profile and --fidelity have an effect on captures alone");
  }
  return check_kernel(arguments);
}

int verify(const Arguments& arguments) {
  const ComparisonOptions& common = arguments.common;
  common.require_valid();
  const check::vectors::VerifyResult result =
      check::vectors::verify(arguments.directory, mma::parse_profile(common.profile));
  write_result(common.out,
               common.is_json() ? check::vectors::verify_json(result) : check::vectors::verify_text(result));
  return result.mismatches() == 0 ? 0 : 1;
}

}  // namespace

void add_crosscheck_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] = add_command(
      app, chosen, "crosscheck", "compare a capture of a GPU, or the result of your own kernel, bit for bit", run);
  declare(command,
          {{"DIR", arguments.directory, "DIR", "capture of a GPU (tests/hardware/CAPTURE.md)"},
           {"--kernel", arguments.kernel, "FILE",
            "one GEMM of your kernel: operands, D, and what it is said to be (.json), or the .npz of --save-operands; "
            "diagnosed"},
           {"--d", arguments.d, "FILE", "with --kernel: D of your kernel (.npy, .npz, .safetensors)"},
           {"--launch", arguments.launch, "NAME", "with --kernel: which launch of a .npz of several"},
           {"--entry", arguments.entry, "N", "with --kernel: which GEMM of a batch (default: 0)"},
           {"--html", arguments.html, "FILE", "with --kernel: write one page with a map of D, which needs no network"},
           {"--arch", arguments.arch, "NAME|FILE",
            "architecture whose times are simulated (default: by the name of the GPU); with --kernel: whose arithmetic "
            "counts, instead of the one that FILE names"},
           {"--instruction", arguments.instruction, "NAME",
            "with --kernel: the instruction, instead of the one that FILE names"},
           {"--k-order", arguments.k_order, "KEY=VALUE,...",
            "with --kernel: the order of the sums, instead of what FILE says, as its k_order: "
            "split_k=3,reduction=parallel"},
           {"--tolerance", arguments.tolerance, "ulps:N|rel:X",
            "with --kernel: by how much an element may be off, in units of the last place or of its sum of |a||b| "
            "(default: nothing)"},
           {"--fidelity", arguments.fidelity, "analytic|timing",
            "how GEMMs are simulated: closed form, or SystemC with a few SMs for all"}});
  arguments.common.add_to(command);
}

void add_verify_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      add_command(app, chosen, "verify", "compute test vectors of matrix instructions and compare every bit", verify);
  declare(command, {{"DIR", arguments.directory, "DIR", "array sets, in any subdirectory", true}});
  arguments.common.add_to(command);
}

}  // namespace sptc::cli
