// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_core/step_work.h"

#include "sim/tensor_core/issue_interval.h"

#include <cmath>

namespace sptc::tensor_core {

namespace {

/// Of the passes over a step without zeros, those that are left of `operands`.
double passes_left(const TensorCoreSpec& spec, const mma::StepContext& context,
                   const mma::SelectedOperands* operands) {
  if (operands == nullptr) {
    return zero_skip_share(spec, context);
  }
  const sparsity::OuterProductArray array = spec.zero_skipping();
  return static_cast<double>(mma::count_passes(context, *operands, array)) /
         static_cast<double>(context.rules.products_per_step *
                             array.passes(mma::kRows, mma::kCols));
}

}  // namespace

StepWork step_work(const TensorCoreSpec& spec, const mma::StepContext& context,
                   const mma::SelectedOperands* operands) {
  const mma::MmaInstruction& instruction = context.instruction;
  StepWork work;
  work.steps = context.steps;
  work.macs = work.operands =
      std::int64_t{instruction.shape.m} * instruction.shape.n * context.rules.products_per_step;
  const bool inside = spec.selects_inside(instruction.sparse);
  work.by_metadata = instruction.sparse && inside ? work.operands : 0;
  work.operand_bytes = inside ? work.operands * context.operand_bits / 8 : 0;
  work.array_bytes = occupied_bytes(spec, context);
  // Elements below a byte are taken apart on their way through the array.
  const std::int64_t extra_cycles = context.operand_bits < 8 ? spec.sub_byte_extra_cycles : 0;
  work.extra_bytes_of_last =
      (extra_cycles + spec.zero_skip_cycles) * spec.dot_units * spec.dot_width_bytes;
  if (spec.zero_skipping().skips()) {
    const double left = passes_left(spec, context, operands);
    const auto share_of = [left](std::int64_t whole) {
      return std::llround(left * static_cast<double>(whole));
    };
    work.operands = work.by_metadata = share_of(work.operands);
    work.operand_bytes = share_of(work.operand_bytes);
    work.array_bytes = share_of(work.array_bytes);
  }
  return work;
}

}  // namespace sptc::tensor_core
