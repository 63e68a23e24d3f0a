// SPDX-License-Identifier: Apache-2.0
#include "sim/report/power_trace.h"

namespace sptc::report {

std::vector<PowerInterval> power_over_time(const std::vector<run::OperationResult>& operations,
                                           bool sparse) {
  std::vector<PowerInterval> trace;
  bool any_sparse = false;
  double now_us = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const run::OperationResult& op = operations[i];
    any_sparse = any_sparse || op.sparse.has_value();
    const run::VariantResult* variant =
        sparse ? op.in_sparse_network() : (op.dense ? &*op.dense : nullptr);
    if (variant == nullptr || !variant->energy) {
      return {};
    }
    const double end_us = now_us + variant->timing.time_us * static_cast<double>(op.count);
    trace.push_back({i, now_us, end_us, variant->energy->power_w, variant->energy->peak_power_w,
                     variant->timing.clock_mhz});
    now_us = end_us;
  }
  return sparse && !any_sparse ? std::vector<PowerInterval>{} : trace;
}

}  // namespace sptc::report
