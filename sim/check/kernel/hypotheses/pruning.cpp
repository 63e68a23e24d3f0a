// SPDX-License-Identifier: Apache-2.0
//
// A dense A that is pruned by another rule, or not.
#include "models/numerics/codec.h"
#include "models/numerics/data_type_info.h"
#include "sim/check/kernel/hypotheses/families.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sptc::check::kernel::hypotheses {
namespace {

constexpr std::array kPrunings{
    std::pair{Pruning::kMagnitude, "A is pruned by magnitude"},
    std::pair{Pruning::kZeroSigns,
              "-0.0 is taken for a non-zero: it takes a place of its group, and a later element is "
              "lost"},
    std::pair{Pruning::kSmallest, "pruning keeps the smallest elements instead of the largest"},
    std::pair{Pruning::kHalved, "pruning keeps half as many elements of each group"},
    std::pair{Pruning::kAlongM, "A is pruned in groups along M instead of K"},
    std::pair{Pruning::kNone, "A is not pruned: a dense instruction takes all of it"}};

bool has_negative_zero(const KernelData& data, numerics::DataType type) {
  return numerics::info(type).is_float() &&
         std::ranges::any_of(data.a.words, [&](numerics::Word word) {
           return word != 0 && numerics::to_double(word, type) == 0;
         });
}

/// Takes the dense instruction of the same types and stored depth, where the target has it.
bool make_dense(const mma::Target& target, KernelModel& model) {
  mma::MmaInstruction dense = model.instruction;
  dense.sparse = false;
  dense.shape.k /= 2;
  const auto rules = mma::find_step_rules(target.architecture, dense);
  if (rules) {
    model.instruction = dense;
    model.rules = *rules;
  }
  return rules.has_value();
}

}  // namespace

Proposals pruning(const Trial& at) {
  const KernelModel& from = at.model();
  const KernelData& data = at.kernel().data;
  Proposals proposals;
  if (data.is_compressed() || !from.instruction.sparse) {
    return proposals;
  }
  for (const auto& [rule, text] : kPrunings) {
    const bool by_sign = rule == Pruning::kZeroSigns;
    const bool is_dense = rule == Pruning::kAlongM || rule == Pruning::kNone;
    KernelModel model = from;
    model.reading.pruning = rule;
    if ((by_sign && !has_negative_zero(data, from.instruction.a_type)) ||
        (is_dense && !make_dense(at.kernel().target, model)) || model.reading == from.reading) {
      continue;
    }
    proposals.add(by_sign ? "negative-zero" : "pruning", text, model);
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
