// SPDX-License-Identifier: Apache-2.0
//
// C of f32 or a bias that goes through a narrower type on its way into the sum.
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

}  // namespace sptc::check::kernel::hypotheses
