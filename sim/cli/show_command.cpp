// SPDX-License-Identifier: Apache-2.0

#include "models/base/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/operand_files.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/report/show/element_view.h"
#include "sim/run/option_values.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string instruction;
  std::string arch = "a100-sxm4-80gb";
  std::string row = "0", col = "0", index = "0";
  OperandFiles files;
  std::string format = "text";
  std::string out, html;
  TableOptions data;
};

constexpr int kMaxExtentOfMma = 256;
constexpr std::int64_t kMaxCases = 1LL << 40;

int place(const char* option, const std::string& text) {
  return static_cast<int>(run::parse_integer(option, text, 0, kMaxExtentOfMma));
}

report::show::ShownOperands read_operands(const Arguments& arguments, const mma::MmaInstruction& instruction) {
  const run::SimulationOptions options = arguments.data.parsed();
  const OperandFiles& files = arguments.files;
  if (files.a.empty() && files.b.empty()) {
    if (!files.c.empty() || !files.metadata.empty() || arguments.index != "0") {
      throw base::InputError("show: --c, --metadata and --case need --a and --b");
    }
    return report::show::generated_operands(instruction, options.data.empty() ? "random" : options.data, options.seed);
  }
  if (files.a.empty() || files.b.empty()) {
    throw base::InputError("show: --a and --b are given together or not at all");
  }
  if (!options.data.empty()) {
    throw base::InputError("--data and --a/--b both say where the operands come from: give one");
  }
  const check::vectors::MmaOperands arrays = files.read();
  const std::optional<check::vectors::MetadataInput> metadata = files.read_metadata();
  if (metadata && metadata->layout == check::vectors::MetadataLayout::kIndices) {
    throw base::InputError("show: --metadata-layout indices holds no metadata bits to show");
  }
  const auto index = run::parse_integer("--case", arguments.index, 0, kMaxCases);
  return report::show::file_operands(instruction, arrays, metadata, static_cast<std::size_t>(index));
}

/// What shows the same again; nothing where files gave the operands.
std::string command_of(const Arguments& arguments, const report::show::ElementView& view) {
  if (!arguments.files.a.empty()) {
    return "";
  }
  const run::SimulationOptions options = arguments.data.parsed();
  std::string text = fmt::format("sptcsim show {} --arch {} --row {} --col {} --seed {}", view.instruction.ptx_name(),
                                 arguments.arch, view.row, view.col, options.seed);
  text += options.data.empty() ? "" : " --data " + options.data;
  return text + (view.selector > 0 ? fmt::format(" --selector {}", view.selector) : "");
}

int run(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  require_writable_text("--out", arguments.out);
  require_writable_text("--html", arguments.html);
  const report::show::ElementChoice choice{place("--row", arguments.row), place("--col", arguments.col),
                                           arguments.files.parsed_selector()};
  report::show::ElementView view = report::show::show_instruction(
      arguments.instruction, arguments.arch,
      [&](const mma::MmaInstruction& instruction) { return read_operands(arguments, instruction); }, choice);
  view.command = command_of(arguments, view);
  write_if_asked(arguments.html, [&] { return report::show::element_html(view); });
  if (arguments.html.empty() || !arguments.out.empty()) {
    write_result(arguments.out, json ? report::show::element_json(view) : report::show::element_text(view));
  }
  return 0;
}

}  // namespace

void add_show_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] = add_command(
      app, chosen, "show", "one element of one matrix instruction: metadata, selected operands, sum, rounding", run);
  OperandFiles& files = arguments.files;
  command
      .add_option("INSTRUCTION", arguments.instruction,
                  "PTX name, whole or in part: mma.sp.m16n8k32.f32.f16.f16.f32 ('mma --list')")
      ->required();
  declare(command,
          {{"--arch", arguments.arch, "NAME|FILE", "a board (its cycles are shown, too), or sm_80, ampere, ..."},
           {"--row", arguments.row, "N", "row of A and D"},
           {"--col", arguments.col, "N", "column of B and D"},
           {"--selector", files.selector, "0..3", "which lanes of a quad hold the metadata of mma.sp"}});
  arguments.data.add(command, {"data", "seed"});
  declare(command,
          {{"--a", files.a, "FILE", "A [M, K] as bits, .npy, pruned here; with --metadata [M, K/2]"},
           {"--b", files.b, "FILE", "B [K, N]"},
           {"--c", files.c, "FILE", "C [M, N] (default: zeros)"},
           {"--metadata", files.metadata, "FILE", "places of the elements of a sparse A"},
           {"--metadata-layout", files.layout, "canonical|cutlass|ptx", "layout of --metadata"},
           {"--case", arguments.index, "N", "which matrices of arrays with three axes"},
           {"--format", arguments.format, "text|json", "format of the result"},
           {"--out", arguments.out, "FILE", "write the result to FILE instead of stdout"},
           {"--html", arguments.html, "FILE", "write one page with an animated figure, which needs no network"}});
}

}  // namespace sptc::cli
