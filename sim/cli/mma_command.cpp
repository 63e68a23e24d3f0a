// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "models/mma/step_rules.h"
#include "sim/check/vectors/bit_array.h"
#include "sim/check/vectors/diagnosis.h"
#include "sim/check/vectors/identify.h"
#include "sim/check/vectors/instruction_list.h"
#include "sim/check/vectors/mma_batch.h"
#include "sim/cli/commands.h"
#include "sim/cli/operand_files.h"
#include "sim/cli/options.h"
#include "sim/cli/output.h"
#include "sim/config/board_names.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sptc::cli {
namespace {

struct Arguments {
  std::string arch;
  std::string instruction;
  OperandFiles files;
  std::string grouping = "H1";
  std::string profile = "hardware";
  std::string out, expect;
  std::string format = "text";
  bool list = false;
  bool identify = false;
  const CLI::App* command = nullptr;
};

// Operands ----------------------------------------------------------------------------------------

check::vectors::MmaOperands read_operands(const Arguments& arguments) {
  if (arguments.files.a.empty() || arguments.files.b.empty()) {
    throw base::InputError("mma: --a and --b are needed");
  }
  return arguments.files.read();
}

// Execution ---------------------------------------------------------------------------------------

/// --expect, of the shape of `d`.
check::vectors::BitArray read_expected(const Arguments& arguments, const check::vectors::BitArray& d) {
  check::vectors::BitArray expected = read_batch(arguments.expect);
  if (expected.shape != d.shape || expected.element_bytes != d.element_bytes) {
    io::refuse("{}: must be [{}] of {} bytes each, not [{}] of {}", io::printable(arguments.expect),
               fmt::join(d.shape, ", "), d.element_bytes, fmt::join(expected.shape, ", "), expected.element_bytes);
  }
  return expected;
}

/// Compares, and says where the first difference is. Returns the exit code.
int compare(const check::vectors::BitArray& expected, const check::vectors::MmaOperands& operands,
            const mma::MmaInstruction& instruction, const mma::StepRules& rules, const check::vectors::BitArray& d) {
  const std::size_t mismatches = std::transform_reduce(d.bits.begin(), d.bits.end(), expected.bits.begin(),
                                                       std::size_t{0}, std::plus<>(), std::not_equal_to<>());
  std::string first;
  if (mismatches > 0) {
    const auto i = static_cast<std::size_t>(std::ranges::mismatch(d.bits, expected.bits).in1 - d.bits.begin());
    const std::size_t column = i % d.shape[2];
    const std::size_t row = i / d.shape[2] % d.shape[1];
    const std::size_t index = i / d.shape[2] / d.shape[1];
    const check::vectors::Diagnosis why = check::vectors::diagnose(
        check::vectors::dot_operands(operands, instruction, index, row, column), instruction, rules, expected.bits[i]);
    first = fmt::format("first: D[{}, {}, {}]: expected {}, computed {}\ndiffers in: {}\n", index, row, column,
                        check::vectors::hex_bits(expected.bits[i], d.element_bytes),
                        check::vectors::hex_bits(d.bits[i], d.element_bytes), why.step);
    for (const std::string& line : why.trace) {
      first += "  " + line + "\n";
    }
  }
  write_result({}, fmt::format("{}{} of {} elements differ\n", first, mismatches, d.bits.size()));
  return mismatches == 0 ? 0 : 1;
}

int execute_one(const Arguments& arguments) {
  if (arguments.arch.empty() || arguments.instruction.empty()) {
    throw base::InputError("mma: --arch and --instruction are needed (or --list, or --identify)");
  }
  if (arguments.out.empty() && arguments.expect.empty()) {
    throw base::InputError("mma: --out or --expect is needed, else nothing is seen of the result");
  }
  const mma::Target& target = config::target_of(arguments.arch);
  const mma::MmaInstruction instruction = mma::parse_instruction(arguments.instruction);
  const mma::StepRules rules =
      mma::with_profile(mma::instruction_rules(target, instruction, check::vectors::parse_grouping(arguments.grouping)),
                        mma::parse_profile(arguments.profile));
  check::vectors::MmaOperands operands = read_operands(arguments);
  if (operands.c.shape.empty()) {
    operands.c = check::vectors::make_bit_array({operands.cases(), operands.rows(), operands.columns()},
                                                check::vectors::element_bytes(instruction.c_type()));
  }
  if (const auto metadata = arguments.files.read_metadata()) {
    operands.indices = check::vectors::element_indices(*metadata, instruction, operands.a.shape,
                                                       io::printable(arguments.files.metadata));
  }
  check::vectors::require_operands(operands, instruction, "mma");
  const check::vectors::BitArray d = check::vectors::execute(operands, instruction, rules);
  std::optional<check::vectors::BitArray> expected;
  if (!arguments.expect.empty()) {
    expected = read_expected(arguments, d);
  }
  if (!arguments.out.empty()) {
    check::vectors::write_bit_array(arguments.out, d);
  }
  return expected ? compare(*expected, operands, instruction, rules, d) : 0;
}

int identify_one(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  if (arguments.expect.empty()) {
    throw base::InputError("mma --identify: --expect names the D whose arithmetic is looked for");
  }
  const check::vectors::Identification found =
      check::vectors::identify(read_operands(arguments), arguments.files.read_metadata(), read_batch(arguments.expect),
                               mma::parse_profile(arguments.profile));
  write_result(arguments.out, json ? check::vectors::identify_json(found) : check::vectors::identify_text(found));
  return found.matches.empty() ? 1 : 0;
}

int list(const Arguments& arguments) {
  const bool json = is_json(arguments.format);
  const std::span<const mma::Target> targets =
      arguments.arch.empty() ? mma::targets() : std::span(&config::target_of(arguments.arch), 1);
  write_result(arguments.out,
               json ? check::vectors::instruction_list_json(targets) : check::vectors::instruction_list_text(targets));
  return 0;
}

/// Refuses given options that a mode would ignore: it is the first of `taken`.
void refuse_others(const CLI::App& command, std::initializer_list<std::string_view> taken) {
  if (const std::string name = given_beside(command, taken); !name.empty()) {
    io::refuse("mma: {} is not of {}", name, *taken.begin());
  }
}

int run(const Arguments& arguments) {
  if (arguments.list) {
    refuse_others(*arguments.command, {"--list", "--arch", "--format", "--out"});
    require_writable_text("--out", arguments.out);
    return list(arguments);
  }
  if (arguments.identify) {
    refuse_others(*arguments.command, {"--identify", "--a", "--b", "--c", "--metadata", "--metadata-layout",
                                       "--selector", "--expect", "--profile", "--format", "--out"});
    require_writable_text("--out", arguments.out);
    return identify_one(arguments);
  }
  if (arguments.format != "text") {
    throw base::InputError("mma: --format needs --list or --identify");
  }
  if (!arguments.out.empty()) {
    require_writable("--out", arguments.out);
  }
  return execute_one(arguments);
}

}  // namespace

void add_mma_command(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      add_command(app, chosen, "mma", "execute one matrix instruction bit for bit, list them, or identify one", run);
  arguments.command = &command;
  OperandFiles& files = arguments.files;
  declare(
      command,
      {{"--arch", arguments.arch, "NAME", "sm_80, ampere, A100, ... or a board: a name of 'arch list', or a file"},
       {"--instruction", arguments.instruction, "NAME",
        "PTX name, whole or the shape and types: m16n8k16.f32.f16.f16.f32"},
       {"--a", files.a, "FILE", "A [case, M, K] as bits, .npy; sparse: [case, M, K/2]"},
       {"--b", files.b, "FILE", "B [case, K, N]"},
       {"--c", files.c, "FILE", "C [case, M, N] (default: zeros)"},
       {"--metadata", files.metadata, "FILE", "places of the elements of a sparse A"},
       {"--metadata-layout", files.layout,
        "canonical|cutlass|cutlass-sm90|cutlass-sm90-k64|cutlass-sm100|ptx|indices|marlin", "layout of --metadata"},
       {"--selector", files.selector, "0..3", "which lanes of a quad hold the metadata, in the layout ptx"},
       {"--grouping", arguments.grouping, "H1|H2", "what a sparse step counts: stored elements (H1) or logical k (H2)"},
       {"--profile", arguments.profile, "hardware|mma-sim",
        "hardware: the models tuned against GPUs; mma-sim: MMA-Sim, word for word"},
       {"--out", arguments.out, "FILE", "D as bits, .npy (with --list, --identify: the answer)"},
       {"--expect", arguments.expect, "FILE", "compare D with this; exit 1 on a difference"}});
  command.add_flag("--list", arguments.list, "instructions of --arch, or of all");
  command.add_flag("--identify", arguments.identify, "which instructions make --expect of A, B and C");
  declare(command, {{"--format", arguments.format, "text|json", "format of what --list and --identify answer"}});
}

}  // namespace sptc::cli
