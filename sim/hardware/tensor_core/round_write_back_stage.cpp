// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/tensor_core/round_write_back_stage.h"

#include <algorithm>

namespace sptc::tensor_core {

RoundWriteBackStage::RoundWriteBackStage(const sc_core::sc_module_name& name, const base::Clock& clock,
                                         const TensorCoreSpec& spec)
    : base::Module(name, clock),
      round_latency_(spec.round_latency_cycles),
      write_back_latency_(spec.write_back_latency_cycles) {
  run_on(sums_in);
}

void RoundWriteBackStage::on_event() {
  while (sums_in->can_read()) {
    const SumsToken sums = sums_in->read();
    base::Payload<mma::RoundedResults> results;
    if (sums.payload) {
      results = base::make_payload<mma::RoundedResults>();
      mma::round_sums(*sums.issue.context, *sums.payload, *results);
    }
    if (!sums.is_last()) {
      feedback_out->write({sums.issue.id, sums.step + 1, std::move(results)});
      continue;
    }
    done_out->write_after({sums.issue, std::move(results)}, to_result(sums.occupied_cycles));
  }
}

std::int64_t RoundWriteBackStage::pass(std::int64_t occupied, std::int64_t arrival) {
  passed_ = std::max(passed_, arrival + to_result(occupied));
  return passed_;
}

}  // namespace sptc::tensor_core
