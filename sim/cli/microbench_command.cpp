// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/config/architecture.h"
#include "sim/microbench/microbench.h"
#include "sim/report/version.h"
#include "sim/run/option_values.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

constexpr std::int64_t kMaxWarps = 64;
constexpr std::int64_t kMaxIlp = 255;

struct Arguments {
  std::string arch = "a100-sxm4-80gb";
  std::string instruction;
  std::string warps;
  std::string ilp;
  std::string format = "text";
  std::string out;
};

std::vector<microbench::MicrobenchCase> cases_of(const Arguments& arguments,
                                                 const gpu::GpuSpec& spec) {
  std::vector<microbench::MicrobenchCase> cases = microbench::published_cases(spec);
  if (!arguments.instruction.empty()) {
    const microbench::BenchInstruction instruction =
        microbench::parse_bench_instruction(arguments.instruction);
    const std::string name = microbench::name_of(instruction);
    std::erase_if(cases, [&](const microbench::MicrobenchCase& row) {
      return name_of(row.instruction) != name;
    });
    if (cases.empty() || !arguments.warps.empty() || !arguments.ilp.empty()) {
      const auto* matrix = std::get_if<microbench::MatrixInstruction>(&instruction);
      cases = {{instruction, matrix != nullptr ? matrix->instruction.warps() : 1, 1}};
    }
  }
  for (microbench::MicrobenchCase& row : cases) {
    if (!arguments.warps.empty()) {
      row.warps = static_cast<int>(run::parse_positive("--warps", arguments.warps, kMaxWarps));
    }
    if (!arguments.ilp.empty()) {
      row.ilp = static_cast<int>(run::parse_positive("--ilp", arguments.ilp, kMaxIlp));
    }
  }
  return cases;
}

std::string cell(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "";
}

std::string text_of(const gpu::GpuSpec& spec,
                    const std::vector<microbench::MicrobenchResult>& rows) {
  std::string text = fmt::format(
      "{}: one SM, simulated. Sparse instructions count the zeros that they skip; in turn:\n"
      "every chain of a warp has its metadata in other lanes (selector) than the one before.\n\n"
      "{:<62} {:>6} {:>5} {:>3} {:>9} {:>10} {:>10}\n",
      spec.name, "instruction", "sparse", "warps", "ilp", "latency", "FMA/clk/SM", "B/clk/SM");
  for (const microbench::MicrobenchResult& row : rows) {
    text += fmt::format("{:<62} {:>6} {:>5} {:>3} {:>9.1f} {:>10} {:>10}\n",
                        row.instruction + (row.selectors_in_turn ? " in turn" : ""),
                        row.sparse ? "yes" : "no", row.warps, row.ilp, row.latency_cycles,
                        cell(row.fma_per_clk_per_sm, 1), cell(row.bytes_per_clk_per_sm, 1));
  }
  return text;
}

std::string csv_of(const std::vector<microbench::MicrobenchResult>& rows) {
  std::string text =
      "instruction,sparse,warps,ilp,latency_cycles,fma_per_clk_per_sm,bytes_per_clk_per_sm,"
      "selectors_in_turn\n";
  for (const microbench::MicrobenchResult& row : rows) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", row.instruction, row.sparse, row.warps,
                        row.ilp, row.latency_cycles, cell(row.fma_per_clk_per_sm, 3),
                        cell(row.bytes_per_clk_per_sm, 3), row.selectors_in_turn);
  }
  return text;
}

std::string json_of(const gpu::GpuSpec& spec,
                    const std::vector<microbench::MicrobenchResult>& rows) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const microbench::MicrobenchResult& row : rows) {
    Json json{{"instruction", row.instruction},
              {"sparse", row.sparse},
              {"selectors_in_turn", row.selectors_in_turn},
              {"warps", row.warps},
              {"ilp", row.ilp},
              {"latency_cycles", row.latency_cycles}};
    if (row.fma_per_clk_per_sm) {
      json["fma_per_clk_per_sm"] = *row.fma_per_clk_per_sm;
    }
    if (row.bytes_per_clk_per_sm) {
      json["bytes_per_clk_per_sm"] = *row.bytes_per_clk_per_sm;
    }
    list.push_back(std::move(json));
  }
  const Json root{{"schema", "sptcsim-microbench-1"},
                  {"version", report::program_version()},
                  {"arch", spec.name},
                  {"rows", std::move(list)}};
  return root.dump(2) + "\n";
}

int run(const Arguments& arguments) {
  require_format(arguments.format, {"text", "json", "csv"});
  require_writable_text("--out", arguments.out);
  const gpu::GpuSpec spec = config::load_architecture(arguments.arch).gpu;
  const std::vector<microbench::MicrobenchCase> cases = cases_of(arguments, spec);
  microbench::Microbench microbench(spec);
  std::vector<microbench::MicrobenchResult> rows;
  rows.reserve(cases.size());
  for (const microbench::MicrobenchCase& row : cases) {
    rows.push_back(microbench.run(row));
  }
  write_result(arguments.out, arguments.format == "text"   ? text_of(spec, rows)
                              : arguments.format == "json" ? json_of(spec, rows)
                                                           : csv_of(rows));
  return 0;
}

}  // namespace

void add_microbench_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "microbench", "simulated latency and throughput of instructions by warps and ILP");
  command->add_option("--arch", arguments->arch, "architecture: a name of 'arch list', or a file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command
      ->add_option("--instruction", arguments->instruction,
                   "a PTX name as 'sptcsim mma --list' shows them (wgmma: followed by ' ss' or "
                   "' rs'; mma.sp: by ' in turn', for its selectors), ldmatrix.xN, 'ld.shared.u32 "
                   "N-way', ld.global.ca.u32 or .v4.u32, 'cp.async 16', or 'cp.async.bulk BYTES' "
                   "(default: the rows that are published for its generation)")
      ->type_name("NAME");
  command
      ->add_option("--warps", arguments->warps,
                   "1 to 32 warps on the SM, dealt to its sub-partitions in turn (default: as "
                   "published, or 1; wgmma: 4)")
      ->type_name("N");
  command
      ->add_option("--ilp", arguments->ilp,
                   "chains of dependent instructions per warp (default: as published, or 1)")
      ->type_name("N");
  command->add_option("--format", arguments->format, "latencies in cycles; rates per cycle and SM")
      ->type_name("text|json|csv")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write the result to FILE instead of stdout")
      ->type_name("FILE");
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::cli
