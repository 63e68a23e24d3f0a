// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/codec.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/pattern.h"
#include "sim/report/show/element_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace sptc::report::show {
namespace {

using mma::ElementStep;
using mma::StepKind;
using numerics::Word;

std::string number(double value) {
  return fmt::format("{:.5g}", value);
}

std::string hex(Word word, numerics::DataType type) {
  return fmt::format("0x{:0{}x}", word, std::max(1, numerics::storage_bits(type) / 4));
}

std::string head(const ElementView& view) {
  const mma::MmaInstruction& mma = view.instruction;
  const std::string sass = view.entry.sass.empty() ? "" : ", " + view.entry.sass;
  std::string out = fmt::format("{}\nD[{}, {}] on {} ({}{}); operands: {}\n", mma.ptx_name(), view.row, view.col,
                                view.target.name, view.target.gpus, sass, view.operands);
  if (const auto warning = mma::speed_warning(view.target, mma); !warning.empty()) {
    out += fmt::format("On {} {}.\n", view.target.name, warning);
  }
  const mma::StepRules& rules = view.rules;
  if (rules.is_integer()) {
    return out + "The sum of all products and C is exact.\n";
  }
  out += fmt::format(
      "A step adds {} products and C: aligned to the largest exponent with {} "
      "fraction bits,\ncut toward zero, summed exactly, rounded once {} to {}.\n",
      rules.products_per_step, rules.fraction_bits,
      rules.rounding == mma::OutputRounding::kTowardZero ? "toward zero" : "to nearest even",
      numerics::name(rules.output));
  if (rules.lowered_fp8) {
    out += "This GPU runs the instruction as two steps on f16 and an IEEE addition of C.\n";
  }
  return out;
}

/// The kept elements of a group: their values and places.
std::pair<std::string, std::string> kept_of(const ElementView& view, int group) {
  const sparsity::Pattern pattern = view.instruction.sparse_pattern();
  std::pair<std::string, std::string> texts;
  for (const KeptView& kept : view.kept) {
    if (kept.group == group) {
      texts.first += fmt::format(" {:>9}", number(numerics::to_double(kept.value, view.instruction.a_type)));
      texts.second += (texts.second.empty() ? "" : ", ") + std::to_string(kept.k % pattern.group);
    }
  }
  return texts;
}

/// The weights of a group with those that were kept in brackets.
std::string weights_of(const ElementView& view, int group) {
  const int size = view.instruction.sparse_pattern().group;
  std::string text;
  for (int k = group * size; k < (group + 1) * size; ++k) {
    const bool is_kept =
        std::any_of(view.kept.begin(), view.kept.end(), [k](const KeptView& kept) { return kept.k == k; });
    const std::string value =
        number(numerics::to_double(view.weights[static_cast<std::size_t>(k)], view.instruction.a_type));
    text += fmt::format(" {:>11}", is_kept ? "[" + value + "]" : value + " ");
  }
  return text;
}

std::string groups_text(const ElementView& view) {
  const sparsity::Pattern pattern = view.instruction.sparse_pattern();
  const bool has_weights = !view.weights.empty();
  std::string out = fmt::format(
      "\n1. {} of every {} weights of row {} of A are kept; the places of the kept are the "
      "metadata.\n   {:>5} {:<{}}  {:<10} bits\n",
      pattern.kept, pattern.group, view.row, "group", has_weights ? " weights, kept in brackets" : " kept weights",
      has_weights ? 12 * pattern.group : 10 * pattern.kept, "places");
  for (int group = 0; group < static_cast<int>(view.groups.size()); ++group) {
    const auto [values, places] = kept_of(view, group);
    const int nibble = view.groups[static_cast<std::size_t>(group)].nibble;
    out += fmt::format("   {:>5} {}  {:<10} {:02b} {:02b}\n", group, has_weights ? weights_of(view, group) : values,
                       places, nibble >> 2, nibble & 3);
  }
  return out;
}

std::string bits_text(const BitField& field) {
  return fmt::format("bits {:>2}..{:<2}", field.low_bit + field.bits - 1, field.low_bit);
}

std::string metadata_text(const ElementView& view) {
  constexpr int kCanonicalWidth = 33;
  constexpr int kRegisterWidth = 35;
  const int element_bits = sparsity::metadata_element_bits(view.instruction.a_type);
  std::string out = fmt::format(
      "\n2. The same bits in each layout of the metadata. Register: operand e of mma.sp, selector "
      "{}.\n   CUTLASS 2.x and PyTorch: E of a matrix of {} rows, reordered.\n"
      "   {:>5}  {:<{}} {:<{}} {}\n",
      view.selector, view.groups.front().reordered_rows, "group", "canonical E[row, column]", kCanonicalWidth,
      "register", kRegisterWidth, "CUTLASS 2.x, PyTorch");
  for (std::size_t group = 0; group < view.groups.size(); ++group) {
    const GroupView& shown = view.groups[group];
    const std::string canonical = fmt::format("E[{}, {}] {} of 0x{:0{}x}", view.row, shown.column,
                                              bits_text(shown.element), shown.element.word, element_bits / 4);
    std::string lane = "in tensor memory";
    if (shown.in_register) {
      lane = fmt::format("{}lane {} {} of 0x{:08x}", shown.warp > 0 ? fmt::format("warp {} ", shown.warp) : "",
                         shown.lane, bits_text(*shown.in_register), shown.in_register->word);
    }
    out += fmt::format("   {:>5}  {:<{}} {:<{}} element {}\n", group, canonical, kCanonicalWidth, lane, kRegisterWidth,
                       shown.reordered_index);
  }
  return out;
}

std::string bits_of(const AddendBits& bits, const BitWindow& window) {
  constexpr std::size_t kMostCut = 12;
  const std::string cut = bits.cut.size() > kMostCut ? bits.cut.substr(0, kMostCut) + ".." : bits.cut;
  const auto point = static_cast<std::size_t>(window.point);
  return fmt::format("{}{}.{}{}{}", bits.negative ? '-' : '+', bits.kept.substr(0, point), bits.kept.substr(point),
                     cut.empty() ? "" : "|", cut);
}

/// A row for each product of `step`, with its bits where they are aligned in a window.
std::string product_rows(const ElementView& view, const ElementStep& step, const BitWindow* window) {
  std::string out;
  for (std::size_t t = 0; t < step.positions.size(); ++t) {
    const KeptView& kept = view.kept[step.positions[t]];
    const double a = numerics::to_double(kept.value, view.instruction.a_type);
    const double b = numerics::to_double(view.b_column[static_cast<std::size_t>(kept.k)], view.instruction.b_type);
    out += fmt::format("   {:>3} {:>4} {:>10} {:>10} {:>11}{}\n", step.positions[t], kept.k, number(a), number(b),
                       number(a * b),
                       window == nullptr ? "" : "  " + bits_of(addend_bits(step.addends[t], *window), *window));
  }
  return out;
}

std::string sum_row(const char* name, double value) {
  return fmt::format("   {:<30} {:>11}", name, number(value));
}

double accumulator_value(const ElementView& view, Word word) {
  return numerics::to_double(word, view.rules.output);
}

std::string aligned_rows(const ElementView& view, const ElementStep& step) {
  if (step.addends.empty()) {
    return product_rows(view, step, nullptr) + "   A NaN or an infinity takes part, so that nothing is aligned.\n";
  }
  const BitWindow window = bit_window(step, view.rules.fraction_bits);
  std::string out = product_rows(view, step, &window) + sum_row("C", accumulator_value(view, step.accumulator)) + "  " +
                    bits_of(addend_bits(step.addends.back(), window), window) + "\n";
  const double sum = std::ldexp(static_cast<double>(step.trace.sum), window.unit_exponent);
  return out + sum_row("sum", sum) + "  " + bits_of(sum_bits(step.trace.sum, window), window) + "\n";
}

std::string step_text(const ElementView& view, std::size_t index) {
  const ElementStep& step = view.steps[index];
  const std::string result =
      fmt::format("{} {}", numerics::name(view.rules.output), hex(step.trace.result, view.rules.output));
  const double value = accumulator_value(view, step.trace.result);
  if (step.kind == StepKind::kAddition) {
    return fmt::format("   step {}: an IEEE addition of C = {}\n{}  = {}\n", index + 1,
                       number(accumulator_value(view, step.accumulator)), sum_row("sum", value), result);
  }
  if (step.kind == StepKind::kExact) {
    return fmt::format("   step {}: exact\n", index + 1) + product_rows(view, step, nullptr) +
           sum_row("C", accumulator_value(view, step.accumulator)) + "\n" + sum_row("sum", value) + "  = " + result +
           "\n";
  }
  const std::string largest =
      step.trace.largest_exponent
          ? fmt::format("bits times 2^{}, the largest exponent; the last place is 2^{}", *step.trace.largest_exponent,
                        *step.trace.largest_exponent - view.rules.fraction_bits)
          : "no largest exponent";
  return fmt::format("   step {}: {}\n", index + 1, largest) + aligned_rows(view, step) + sum_row("rounded", value) +
         "  = " + result + "\n";
}

std::string cycles_text(const ElementView& view) {
  if (!view.cycles) {
    return "";
  }
  std::string out = fmt::format("\n{}. Alone in an idle tensor core of {} (simulated): cycles\n",
                                view.instruction.sparse ? 5 : 3, view.cycles->board);
  std::map<int, std::string> rows;
  for (const StageSpan& span : view.cycles->spans) {
    rows[span.step] += fmt::format("  {} {}-{}", span.stage, span.begin, span.end);
  }
  for (const auto& [step, text] : rows) {
    out += fmt::format("   step {}:{}\n", step + 1, text);
  }
  return out + fmt::format("   D is in the registers after {} cycles.\n", view.cycles->done);
}

}  // namespace

std::string element_text(const ElementView& view) {
  std::string out = head(view);
  if (view.instruction.sparse) {
    out += groups_text(view) + metadata_text(view);
  }
  const std::string number_of_part = view.instruction.sparse ? "3" : "1";
  out += fmt::format(
      "\n{}. Each multiplier takes a stored element of A and row k of B{}.\n"
      "   {:>3} {:>4} {:>10} {:>10} {:>11}{}\n",
      number_of_part, view.instruction.sparse ? ", which its place names" : "", "a", "k", "A", "B", "product",
      view.rules.is_integer() ? "" : "  aligned, in binary; what is behind | is cut off");
  for (std::size_t index = 0; index < view.steps.size(); ++index) {
    out += step_text(view, index);
  }
  const double d = accumulator_value(view, view.d);
  out += fmt::format(
      "\n{}. D[{}, {}] = {} = {:.9g}; the exact sum is {:.9g}: off by {:.3g}."
      "\n  {}\n",
      view.instruction.sparse ? "4" : "2", view.row, view.col, hex(view.d, view.rules.output), d, view.exact,
      d - view.exact,
      view.d_slot ? fmt::format(" Register d{} of lane {} holds it.", view.d_slot->reg, view.d_slot->lane) : "");
  return out + cycles_text(view);
}

}  // namespace sptc::report::show
