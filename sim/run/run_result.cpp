// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run_result.h"

#include <algorithm>

namespace sptc::run {
namespace {

bool is_right(const std::optional<VariantResult>& variant) {
  return !variant || !variant->check || variant->check->mismatches == 0;
}

}  // namespace

std::optional<double> OperationResult::speedup() const {
  if (!dense || !sparse || sparse->timing.time_us <= 0) {
    return std::nullopt;
  }
  return dense->timing.time_us / sparse->timing.time_us;
}

std::optional<double> OperationResult::performance_per_watt_ratio() const {
  if (!dense || !sparse || !dense->energy || !sparse->energy) {
    return std::nullopt;
  }
  return dense->energy->total_uj / sparse->energy->total_uj;
}

std::optional<energy::Bounds> per_watt_bounds(const EnergyResult& dense,
                                              const EnergyResult& sparse) {
  if (!dense.factors || dense.factors != sparse.factors) {
    return std::nullopt;
  }
  return ratio_bounds(dense.factors->factors, dense.by_factor_uj, sparse.by_factor_uj);
}

std::optional<energy::Bounds> OperationResult::per_watt_bounds() const {
  return performance_per_watt_ratio() ? run::per_watt_bounds(*dense->energy, *sparse->energy)
                                      : std::nullopt;
}

const VariantResult* OperationResult::as_measured() const {
  const auto& variant = measured_sparse ? sparse : dense;
  return measured_us > 0 && variant ? &*variant : nullptr;
}

const VariantResult* OperationResult::in_sparse_network() const {
  if (sparse) {
    return &*sparse;
  }
  if (dense_among_sparse) {
    return &*dense_among_sparse;
  }
  return !prunable && dense ? &*dense : nullptr;
}

bool RunResult::passed() const {
  return std::all_of(operations.begin(), operations.end(), [](const OperationResult& operation) {
    return is_right(operation.dense) && is_right(operation.sparse);
  });
}

}  // namespace sptc::run
