// SPDX-License-Identifier: Apache-2.0
//
// How D's type is made of the sums: through another type, or by another rounding.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

using numerics::DataType;

Proposals d_types(const Trial& at) {
  static constexpr std::array kNarrowings{
      std::pair{Narrowing::kTowardZero, "D is rounded toward zero instead of to nearest even"},
      std::pair{Narrowing::kTiesAway, "ties of D are rounded away from zero instead of to even"},
      std::pair{Narrowing::kSaturating, "D saturates at its largest number"},
      std::pair{Narrowing::kFlushing, "subnormal numbers of D are flushed to zero"}};
  const KernelModel& from = at.model();
  const DataType sum = from.rules.output, d_type = at.data().d_type;
  const bool finishes = from.epilogue != Epilogue{};
  Proposals proposals;
  if (from.rules.is_integer()) {
    return proposals;
  }
  const auto round_to = [&](DataType type, const char* before) {
    proposals.add_model("d-type", fmt::format("the sums are rounded to {} before {}", numerics::name(type), before),
                        from, [&](KernelModel& model) { model.epilogue.through = type; });
  };
  for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kTf32}) {
    if (type != d_type && sum == DataType::kF32) {  // D of a type takes all that a narrower one has
      round_to(type, "D");
    }
  }
  if (finishes && d_type != sum) {
    round_to(d_type, "the epilogue");
  }
  for (const auto& [narrowing, text] : kNarrowings) {
    if (d_type != sum || finishes || !at.data().bias.empty()) {
      proposals.add_model("d-type", text, from,
                          [other = narrowing](KernelModel& model) { model.epilogue.narrowing = other; });
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
