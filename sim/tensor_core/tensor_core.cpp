// SPDX-License-Identifier: Apache-2.0
#include "sim/tensor_core/tensor_core.h"

namespace sptc::sim {

TensorCore::TensorCore(const sc_core::sc_module_name& name, const Clock& clock,
                       const TensorCoreSpec& spec, const OperandRegisters& registers)
    : sc_core::sc_module(name),
      // The way from the scheduler to the operand fetch already took the first of the fetch cycles.
      fetched("fetched", clock, spec.operand_fetch_latency_cycles - 1),
      selected("selected", clock, spec.selector_latency_cycles),
      products("products", clock, spec.multiply_latency_cycles),
      sums("sums", clock, spec.align_add_latency_cycles),
      feedback("feedback", clock, spec.round_latency_cycles),
      credit("credit", clock, 1),
      operand_fetch("operand_fetch", clock, spec, registers),
      metadata_selector("metadata_selector", clock, spec),
      multiply("multiply", clock, spec),
      align_add("align_add", clock),
      round_write_back("round_write_back", clock, spec) {
  operand_fetch.issue_in(issue_in);
  operand_fetch.credit_in(credit);
  operand_fetch.fetched_out(fetched);
  operand_fetch.operands_read_out(operands_read_out);
  metadata_selector.fetched_in(fetched);
  metadata_selector.selected_out(selected);
  multiply.selected_in(selected);
  multiply.feedback_in(feedback);
  multiply.products_out(products);
  multiply.credit_out(credit);
  align_add.products_in(products);
  align_add.sums_out(sums);
  round_write_back.sums_in(sums);
  round_write_back.feedback_out(feedback);
  round_write_back.done_out(done_out);
}

}  // namespace sptc::sim
