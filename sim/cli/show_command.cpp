// SPDX-License-Identifier: Apache-2.0

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/table_options.h"
#include "sim/compare/vectors/bit_array.h"
#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/io/text_file.h"
#include "sim/run/option_values.h"
#include "sim/show/element_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string instruction;
  std::string arch = "a100-sxm4-80gb";
  std::string row = "0", col = "0", selector = "0", index = "0";
  std::string a, b, c, metadata;
  std::string layout = "canonical";
  std::string format = "text";
  std::string out, html;
  TableOptions data;
};

constexpr int kMaxExtentOfMma = 256;
constexpr std::int64_t kMaxCases = 1LL << 40;

int integer(const char* option, const std::string& text, int max) {
  return static_cast<int>(run::parse_integer(option, text, 0, max));
}

/// A matrix stands for a batch of one.
compare::vectors::BitArray read_batched(const std::string& file) {
  compare::vectors::BitArray array = compare::vectors::read_bit_array(file);
  if (array.shape.size() == 2) {
    array.shape.insert(array.shape.begin(), 1);
  }
  return array;
}

show::ShownOperands read_operands(const Arguments& arguments,
                                  const mma::MmaInstruction& instruction) {
  const run::SimulationOptions options = arguments.data.parsed();
  if (arguments.a.empty() && arguments.b.empty()) {
    if (!arguments.c.empty() || !arguments.metadata.empty() || arguments.index != "0") {
      throw base::InputError("show: --c, --metadata and --case need --a and --b");
    }
    return show::generated_operands(instruction, options.data.empty() ? "random" : options.data,
                                    options.seed);
  }
  if (arguments.a.empty() || arguments.b.empty()) {
    throw base::InputError("show: --a and --b are given together or not at all");
  }
  if (!options.data.empty()) {
    throw base::InputError("--data and --a/--b both say where the operands come from: give one");
  }
  compare::vectors::MmaOperands arrays;
  arrays.a = read_batched(arguments.a);
  arrays.b = read_batched(arguments.b);
  if (!arguments.c.empty()) {
    arrays.c = read_batched(arguments.c);
  }
  std::optional<compare::vectors::MetadataInput> metadata;
  if (!arguments.metadata.empty()) {
    metadata =
        compare::vectors::MetadataInput{compare::vectors::read_bit_array(arguments.metadata),
                                        compare::vectors::parse_metadata_layout(arguments.layout),
                                        integer("--selector", arguments.selector, 3)};
    if (metadata->layout == compare::vectors::MetadataLayout::kIndices) {
      throw base::InputError("show: --metadata-layout indices holds no metadata bits to show");
    }
  }
  const auto index = run::parse_integer("--case", arguments.index, 0, kMaxCases);
  return show::file_operands(instruction, arrays, metadata, static_cast<std::size_t>(index));
}

/// The cycles of a board; nothing where --arch is a target and no board.
std::optional<show::InstructionCycles> cycles_of(const std::string& arch,
                                                 const mma::MmaInstruction& instruction) {
  const std::string board = config::board_name(arch);
  const std::vector<std::string> names = config::architecture_names();
  const bool is_file = board.find('/') != std::string::npos || board.ends_with(".json");
  if (!is_file && std::find(names.begin(), names.end(), board) == names.end()) {
    return std::nullopt;
  }
  return show::instruction_cycles(config::load_architecture(board).gpu, instruction);
}

/// What shows the same again; nothing where files gave the operands.
std::string command_of(const Arguments& arguments, const show::ElementView& view) {
  if (!arguments.a.empty()) {
    return "";
  }
  const run::SimulationOptions options = arguments.data.parsed();
  std::string text =
      fmt::format("sptcsim show {} --arch {} --row {} --col {} --seed {}",
                  view.instruction.ptx_name(), arguments.arch, view.row, view.col, options.seed);
  text += options.data.empty() ? "" : " --data " + options.data;
  return text + (view.selector > 0 ? fmt::format(" --selector {}", view.selector) : "");
}

int run(const Arguments& arguments) {
  constexpr std::array<std::string_view, 2> kFormats{"text", "json"};
  const bool is_json = arguments.format == kFormats[1];
  if (!is_json && arguments.format != kFormats[0]) {
    throw base::InputError("unknown format " +
                           base::unknown_name(io::printable(arguments.format), kFormats));
  }
  for (const auto& [option, file] :
       {std::pair{"--out", &arguments.out}, {"--html", &arguments.html}}) {
    if (!file->empty()) {
      require_writable_text(option, *file);
    }
  }
  const mma::Target& target = config::target_of(arguments.arch);
  const mma::MmaInstruction instruction = mma::parse_instruction(arguments.instruction);
  mma::find_instruction(target, instruction);
  const show::ElementChoice choice{integer("--row", arguments.row, kMaxExtentOfMma),
                                   integer("--col", arguments.col, kMaxExtentOfMma),
                                   integer("--selector", arguments.selector, 3)};
  show::ElementView view =
      show::view_element(target, instruction, read_operands(arguments, instruction), choice);
  view.cycles = cycles_of(arguments.arch, instruction);
  view.command = command_of(arguments, view);
  if (!arguments.html.empty()) {
    write_result(arguments.html, show::element_html(view));
  }
  if (arguments.html.empty() || !arguments.out.empty()) {
    write_result(arguments.out, is_json ? show::element_json(view) : show::element_text(view));
  }
  return 0;
}

void add_operands(CLI::App& command, Arguments& arguments) {
  arguments.data.add(command, {"data", "seed"});
  const auto file = [&](const char* name, std::string& value, const char* description) {
    command.add_option(name, value, description)->type_name("FILE");
  };
  file("--a", arguments.a, "A [M, K] as bits, .npy, pruned here; with --metadata [M, K/2]");
  file("--b", arguments.b, "B [K, N]");
  file("--c", arguments.c, "C [M, N] (default: zeros)");
  file("--metadata", arguments.metadata, "places of the elements of a sparse A");
  command.add_option("--metadata-layout", arguments.layout, "of --metadata")
      ->type_name("canonical|reordered|lanes")
      ->capture_default_str();
  command.add_option("--case", arguments.index, "of arrays with three axes: which one")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

void add_show_command(CLI::App& app, Command& chosen) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "show", "one element of one matrix instruction: metadata, selected operands, sum, rounding");
  command
      ->add_option("INSTRUCTION", arguments->instruction,
                   "PTX name, whole or in part: mma.sp.m16n8k32.f32.f16.f16.f32 ('mma --list')")
      ->required();
  command
      ->add_option("--arch", arguments->arch,
                   "a board (its cycles are shown, too), or sm_80, ampere, ...")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command->add_option("--row", arguments->row, "row of A and D")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--col", arguments->col, "column of B and D")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--selector", arguments->selector,
                   "of mma.sp: which lanes of a quad hold the metadata")
      ->type_name("0..3")
      ->capture_default_str();
  add_operands(*command, *arguments);
  command->add_option("--format", arguments->format, "of the result")
      ->type_name("text|json")
      ->capture_default_str();
  command->add_option("--out", arguments->out, "write the result to FILE instead of stdout")
      ->type_name("FILE");
  command
      ->add_option("--html", arguments->html,
                   "write one page with an animated figure, which needs no network")
      ->type_name("FILE");
  command->callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace sptc::cli
