// SPDX-License-Identifier: Apache-2.0
//
// What A and B are made of: bits of another type, an A that is pruned by another rule.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

using enum numerics::DataType;
using numerics::DataType;

// The bits of A, B or both taken for another type of their width.
Proposals operand_types(const Trial& at) {
  static constexpr std::array kPairs{std::pair{kS8, kU8}, std::pair{kS4, kU4}, std::pair{kE4m3, kE5m2},
                                     std::pair{kF16, kBf16}};
  const auto other_of = [](DataType type) {
    const auto* const found =
        std::ranges::find_if(kPairs, [&](const auto& pair) { return type == pair.first || type == pair.second; });
    return found == kPairs.end() ? type : type == found->first ? found->second : found->first;
  };
  const mma::MmaInstruction& own = at.model().instruction;
  const DataType a = other_of(own.a_type), b = other_of(own.b_type);
  Proposals proposals;
  const auto add = [&](DataType a_type, DataType b_type, std::string text) {
    proposals.add_model("operand-type", std::move(text), at.model(), [&](KernelModel& model) {
      mma::MmaInstruction other = own;
      other.a_type = a_type;
      other.b_type = b_type;
      if (const auto rules = mma::find_step_rules(at.kernel().target.architecture, other)) {
        model.instruction = other;
        model.rules = *rules;
      }
    });
  };
  add(a, own.b_type, fmt::format("A is taken for {}", numerics::name(a)));
  add(own.a_type, b, fmt::format("B is taken for {}", numerics::name(b)));
  add(a, b, fmt::format("A is taken for {} and B for {}", numerics::name(a), numerics::name(b)));
  return proposals;
}

// Operands of f32 that are rounded to tf32, whose low bits an instruction ignores.
Proposals rounded_operands(const Trial& at) {
  const mma::MmaInstruction& own = at.kernel().model.instruction;
  Proposals proposals;
  for (const auto& [who, of_a, of_b] :
       {std::tuple("A and B are", true, true), {"A is", true, false}, {"B is", false, true}}) {
    for (const auto& [how, ties_away] : {std::pair("away from zero (cvt.rna.tf32)", true), {"to even", false}}) {
      const auto round = [away = ties_away](base::Matrix<numerics::Word>& words) {
        constexpr numerics::Word kIgnored = 0x1FFF, kHalf = 0x1000;
        for (std::size_t i = 0; i < words.size(); ++i) {
          numerics::Word& word = words.data()[i];
          const bool is_finite = (word & 0x7F800000) != 0x7F800000;
          word = is_finite ? (word + (away || (word & (kIgnored + 1)) != 0 ? kHalf : kHalf - 1)) & ~kIgnored : word;
        }
      };
      proposals.list.push_back({"operand-rounding", fmt::format("{} rounded to tf32, ties {}, not cut off", who, how),
                                [=, a = of_a, b = of_b](KernelOperands& operands, const Selection&) {
                                  if (a) {
                                    round(operands.a);
                                  }
                                  if (b) {
                                    round(operands.b_columns);
                                  }
                                }});
    }
  }
  return own.a_type == kTf32 ? proposals : Proposals{};
}

// A dense A that is pruned by another rule, or not.
Proposals pruning(const Trial& at) {
  static constexpr std::array kPrunings{
      std::pair{Pruning::kMagnitude, "A is pruned by magnitude"},
      std::pair{Pruning::kZeroSigns,
                "-0.0 is taken for a non-zero: it takes a place of its group, and a later element is lost"},
      std::pair{Pruning::kSmallest, "pruning keeps the smallest elements instead of the largest"},
      std::pair{Pruning::kHalved, "pruning keeps half as many elements of each group"},
      std::pair{Pruning::kAlongM, "A is pruned in groups along M instead of K"},
      std::pair{Pruning::kNone, "A is not pruned: a dense instruction takes all of it"}};
  const KernelModel& from = at.model();
  const DataType type = from.instruction.a_type;
  Proposals proposals;
  if (at.data().is_compressed() || !from.instruction.sparse) {
    return proposals;
  }
  mma::MmaInstruction dense = from.instruction;
  dense.sparse = false;
  dense.shape.k /= 2;
  const auto dense_rules = mma::find_step_rules(at.kernel().target.architecture, dense);
  const auto is_negative_zero = [&](numerics::Word word) { return word != 0 && numerics::to_double(word, type) == 0; };
  const bool has_negative_zero =
      numerics::info(type).is_float() && std::ranges::any_of(at.data().a.words, is_negative_zero);
  for (const auto& [rule, text] : kPrunings) {
    const bool by_sign = rule == Pruning::kZeroSigns, is_dense = rule == Pruning::kAlongM || rule == Pruning::kNone;
    if ((by_sign && !has_negative_zero) || (is_dense && !dense_rules)) {
      continue;
    }
    proposals.add_model(by_sign ? "negative-zero" : "pruning", text, from, [&, other = rule](KernelModel& model) {
      model.reading.pruning = other;
      model.instruction = is_dense ? dense : model.instruction;
      model.rules = is_dense ? *dense_rules : model.rules;
    });
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
