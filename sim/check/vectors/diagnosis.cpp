// SPDX-License-Identifier: Apache-2.0
#include "sim/check/vectors/diagnosis.h"

#include "models/mma/dot_step.h"
#include "models/mma/element_trace.h"
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace sptc::check::vectors {
namespace {

using mma::MmaInstruction;
using mma::StepRules;
using numerics::Word;

std::string hex(std::uint64_t bits, const StepRules& rules) {
  return hex_bits(bits, element_bytes(rules.output));
}

/// Each step of a float instruction, its window and its sum.
std::vector<std::string> trace_steps(const DotOperands& operands, const MmaInstruction& instruction,
                                     const StepRules& rules) {
  std::vector<std::string> lines;
  const std::span<const Word> a(operands.a);
  const std::span<const Word> b(operands.b);
  const auto width = static_cast<std::size_t>(rules.products_per_step);
  auto c = static_cast<Word>(operands.c);
  if (instruction.c_type() != instruction.accumulator) {
    c = numerics::from_double(numerics::to_double(c, instruction.c_type()), instruction.accumulator);
  }
  for (std::size_t k = 0; k < a.size(); k += width) {
    const std::size_t count = std::min(width, a.size() - k);
    const mma::StepTrace step = mma::trace_step(a.subspan(k, count), b.subspan(k, count), c, instruction, rules);
    const std::string where = fmt::format("step {} (k {}..{}), C {}: ", k / width + 1, k, k + count - 1, hex(c, rules));
    lines.push_back(where +
                    (step.largest_exponent
                         ? fmt::format("largest exponent {}, sum {} * 2^{}, rounded to {}", *step.largest_exponent,
                                       step.sum, *step.largest_exponent - rules.fraction_bits, hex(step.result, rules))
                         : fmt::format("special values or all zeros give {}", hex(step.result, rules))));
    c = step.result;
  }
  return lines;
}

std::vector<std::string> trace(const DotOperands& operands, const MmaInstruction& instruction, const StepRules& rules) {
  if (rules.is_f64()) {
    std::vector<std::string> lines;
    std::uint64_t sum = operands.c;
    for (std::size_t k = 0; k < operands.a64.size(); ++k) {
      sum = mma::f64_dot(std::span(operands.a64).subspan(k, 1), std::span(operands.b64).subspan(k, 1), sum);
      lines.push_back(fmt::format("after k = {}: {}", k, hex(sum, rules)));
    }
    return lines;
  }
  if (rules.is_integer()) {
    MmaInstruction wrapping = instruction;
    wrapping.satfinite = false;
    return {fmt::format("sum mod 2^32: {}", hex(dot(operands, wrapping, rules), rules))};
  }
  if (rules.lowered_fp8) {
    const std::vector<mma::ElementStep> steps =
        mma::trace_element(operands.a, operands.b, static_cast<Word>(operands.c), instruction, rules);
    return {fmt::format("first f16 step (k mod 4 in {{0,1}}): {}", hex(steps[0].trace.result, rules)),
            fmt::format("second f16 step: {}", hex(steps[1].trace.result, rules)),
            fmt::format("with C {}: {}", hex(operands.c, rules), hex(steps[2].trace.result, rules))};
  }
  return instruction.scales ? std::vector<std::string>{} : trace_steps(operands, instruction, rules);
}

/// How far a wrong word is off, where no changed rule explains it.
std::string distance(std::uint64_t computed, std::uint64_t expected, const StepRules& rules) {
  const auto& format = *numerics::info(rules.output).format;
  const auto mine = numerics::unpack(static_cast<Word>(computed), format);
  const auto theirs = numerics::unpack(static_cast<Word>(expected), format);
  if (mine.kind != theirs.kind) {
    return "special values: NaN, infinity and finite are told apart otherwise";
  }
  if (mine.kind != numerics::Unpacked::Class::kFinite) {
    return "special values: another pattern of the same class";
  }
  if (mine.negative != theirs.negative) {
    return mine.is_zero() && theirs.is_zero() ? "sign of zero" : "sign of the sum";
  }
  const std::uint64_t apart = computed > expected ? computed - expected : expected - computed;
  return apart == 1 ? "output rounding of the last step: one unit in the last place"
                    : fmt::format("products or sum: {} units in the last place apart", apart);
}

std::string differing_step(const DotOperands& operands, const MmaInstruction& instruction, const StepRules& rules,
                           std::uint64_t expected) {
  if (rules.is_f64()) {
    return "the chain of fused multiply-adds";
  }
  if (rules.is_integer()) {
    MmaInstruction other = instruction;
    other.satfinite = !instruction.satfinite;
    StepRules whole = rules;
    whole.products_per_step = instruction.compressed_k();
    return dot(operands, other, whole) == expected ? (instruction.satfinite ? "overflow: wraps instead of saturating"
                                                                            : "overflow: saturates instead of wrapping")
                                                   : "the exact sum of products";
  }
  if (!instruction.scales && !rules.lowered_fp8) {
    for (const auto& [text, variant] : rule_variants(rules)) {
      if (dot(operands, instruction, variant) == expected) {
        return text;
      }
    }
  }
  return distance(dot(operands, instruction, rules), expected, rules);
}

}  // namespace

std::vector<std::pair<std::string, StepRules>> rule_variants(const StepRules& rules) {
  std::vector<std::pair<std::string, StepRules>> variants;
  const auto add = [&](const std::string& text, auto change) {
    StepRules changed = rules;
    change(changed);
    variants.emplace_back(text, changed);
  };
  const bool truncates = rules.rounding == mma::OutputRounding::kTowardZero;
  add(truncates ? "output rounding: to nearest even instead of toward zero"
                : "output rounding: toward zero instead of to nearest even",
      [&](StepRules& r) {
        r.rounding = truncates ? mma::OutputRounding::kNearestEven : mma::OutputRounding::kTowardZero;
      });
  for (const int change : {-2, -1, 1, 2}) {
    const int bits = rules.fraction_bits + change;
    add(fmt::format("alignment: {} fraction bits instead of {}", bits, rules.fraction_bits),
        [&](StepRules& r) { r.fraction_bits = bits; });
  }
  if (rules.exponent_floor) {
    add(fmt::format("exponent floor: none instead of {}", *rules.exponent_floor),
        [](StepRules& r) { r.exponent_floor = std::nullopt; });
  }
  const bool ignores = rules.zero_rule == mma::ZeroRule::kIgnore;
  add(ignores ? "zero rule: zeros take part in the largest exponent, as in MMA-Sim"
              : "zero rule: zeros take no part in the largest exponent",
      [&](StepRules& r) {
        r.zero_rule = ignores ? mma::ZeroRule::kMmaSim : mma::ZeroRule::kIgnore;
        r.exponent_floor = std::nullopt;
      });
  if (rules.products_per_step > 1) {
    add(fmt::format("steps: {} products instead of {}", rules.products_per_step / 2, rules.products_per_step),
        [](StepRules& r) { r.products_per_step /= 2; });
  }
  add(fmt::format("steps: {} products instead of {}", rules.products_per_step * 2, rules.products_per_step),
      [](StepRules& r) { r.products_per_step *= 2; });
  if (rules.output == numerics::DataType::kF32) {
    const int cleared = rules.cleared_output_bits == 0 ? 10 : 0;
    add(fmt::format("output format: f32 with {} fraction bits", 23 - cleared),
        [&](StepRules& r) { r.cleared_output_bits = cleared; });
  }
  return variants;
}

Diagnosis diagnose(const DotOperands& operands, const MmaInstruction& instruction, const StepRules& rules,
                   std::uint64_t expected) {
  return {differing_step(operands, instruction, rules, expected), trace(operands, instruction, rules)};
}

std::string hex_bits(std::uint64_t bits, int element_bytes) {
  return fmt::format("0x{:0{}x}", bits, 2 * element_bytes);
}

}  // namespace sptc::check::vectors
