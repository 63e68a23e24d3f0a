// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/report/version.h"
#include "sim/run/microbench/microbench.h"
#include "sim/run/option_values.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string arch = "a100-sxm4-80gb";
  std::string instruction;
  std::string warps;
  std::string ilp;
  std::string format = "text";
  std::string out;
};

std::optional<int> given_number(const char* option, const std::string& text, std::int64_t most) {
  return text.empty() ? std::nullopt : std::optional(static_cast<int>(run::parse_positive(option, text, most)));
}

int run(const Arguments& arguments) {
  require_format(arguments.format, {"text", "json", "csv"});
  require_writable_text("--out", arguments.out);
  const gpu::GpuSpec spec = config::load_architecture(arguments.arch).gpu;
  const std::vector<run::microbench::MicrobenchResult> rows = run::microbench::run_cases(
      spec, run::microbench::asked_cases(spec, arguments.instruction,
                                         given_number("--warps", arguments.warps, run::microbench::kMaxWarps),
                                         given_number("--ilp", arguments.ilp, run::microbench::kMaxIlp)));
  write_result(arguments.out, arguments.format == "text" ? run::microbench::rows_text(spec, rows)
                              : arguments.format == "json"
                                  ? run::microbench::rows_json(spec, rows, report::program_version())
                                  : run::microbench::rows_csv(rows));
  return 0;
}

}  // namespace

void add_microbench_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      add_command(app, chosen, "microbench", "simulated latency and throughput of instructions by warps and ILP", run);
  declare(command,
          {{"--arch", arguments.arch, "NAME|FILE", "architecture: a name of 'arch list', or a file"},
           {"--instruction", arguments.instruction, "NAME",
            "a PTX name as 'sptcsim mma --list' shows them (wgmma: followed by ' ss' or ' rs'; tcgen05: by ' ts' or by "
            "' waited for', also with cta_group::2; mma.sp: by ' in turn', for its selectors), ldmatrix.xN, "
            "'ld.shared.u32 N-way', ld.global.ca.u32 or .v4.u32, 'cp.async 16', or 'cp.async.bulk BYTES' (default: the "
            "rows that are published for its generation)"},
           {"--warps", arguments.warps, "N",
            "1 to 32 warps on the SM, dealt to its sub-partitions in turn (default: as published, or 1; wgmma: 4)"},
           {"--ilp", arguments.ilp, "N", "chains of dependent instructions per warp (default: as published, or 1)"},
           {"--format", arguments.format, "text|json|csv", "latencies in cycles; rates per cycle and SM"},
           {"--out", arguments.out, "FILE", "write the result to FILE instead of stdout"}});
}

}  // namespace sptc::cli
