// SPDX-License-Identifier: Apache-2.0
//
// What goes through a narrower type: C of f32 or a bias before it is added, the sum between k-tiles.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

Proposals rounded_addends(const Trial& at) {
  using numerics::DataType;
  Proposals proposals;
  for (const DataType type : {DataType::kF16, DataType::kBf16}) {
    if (at.data().c && at.data().c_type == DataType::kF32) {
      proposals.list.push_back({"c-type", fmt::format("C is rounded to {} before it is added", numerics::name(type)),
                                [type](KernelOperands& operands, const Selection&) {
                                  for (std::size_t i = 0; i < operands.c.size(); ++i) {
                                    numerics::Word& word = operands.c.data()[i];
                                    const double value = numerics::to_double(word, DataType::kF32);
                                    word = numerics::from_double(numerics::rounded(value, type), DataType::kF32);
                                  }
                                }});
    }
    if (!at.data().bias.empty()) {
      proposals.list.push_back(
          {"epilogue", fmt::format("the bias is rounded to {} before it is added", numerics::name(type)),
           [type](KernelOperands& operands, const Selection&) {
             std::for_each(operands.bias.data(), operands.bias.data() + operands.bias.size(),
                           [type](float& value) { value = static_cast<float>(numerics::rounded(value, type)); });
           }});
    }
  }
  return proposals;
}

// One accumulator that is kept in D's type between k-tiles.
Proposals rounded_k_tiles(const Trial& at) {
  const int depth = at.model().instruction.shape.k;
  Proposals proposals;
  std::set<int> lengths;
  for (const int wanted : {1, 32, 64, 128, 256}) {
    const int length = (wanted + depth - 1) / depth * depth;
    const int slices = (static_cast<int>(at.data().k) + length - 1) / length;
    if (!at.model().rules.is_integer() && at.data().d_type != at.model().rules.output && slices > 1 &&
        lengths.insert(length).second) {
      proposals.add_model("rounded-k-tiles",
                          fmt::format("the sum is rounded to {} every {} k, and goes on from there",
                                      numerics::name(at.data().d_type), length),
                          at.model(), [&](KernelModel& model) {
                            model.order.slices = slices;
                            model.order.granule = length;
                            model.order.reduction = Reduction::kChained;
                          });
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
