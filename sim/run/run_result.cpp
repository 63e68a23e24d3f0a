// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run_result.h"

#include "models/base/error.h"

#include <cmath>

namespace sptc::run {
namespace {

bool within_twice(std::int64_t a, std::int64_t b) {
  return a <= 2 * b && b <= 2 * a;
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

std::optional<energy::Bounds> per_watt_bounds(const EnergyResult& dense, const EnergyResult& sparse) {
  if (!dense.factors || dense.factors != sparse.factors) {
    return std::nullopt;
  }
  return ratio_bounds(dense.factors->factors, dense.by_factor_uj, sparse.by_factor_uj);
}

std::optional<energy::Bounds> OperationResult::per_watt_bounds() const {
  return performance_per_watt_ratio() ? run::per_watt_bounds(*dense->energy, *sparse->energy) : std::nullopt;
}

const VariantResult* OperationResult::as_measured() const {
  const auto& variant = measured_sparse ? sparse : dense;
  return measured_us > 0 && variant ? &*variant : nullptr;
}

const VariantResult* OperationResult::in_network(bool sparse_weights) const {
  if (sparse_weights && sparse) {
    return &*sparse;
  }
  if (sparse_weights && dense_among_sparse) {
    return &*dense_among_sparse;
  }
  return dense && !(sparse_weights && prunable) ? &*dense : nullptr;
}

bool RunResult::passed() const {
  bool all_right = true;
  for_each_variant([&](const OperationResult& /*op*/, const VariantResult& variant, bool /*sparse*/) {
    all_right = all_right && (!variant.check || variant.check->mismatches == 0);
  });
  return all_right;
}

std::optional<double> RunResult::gain() const {
  return inference && inference->dense && inference->sparse
             ? std::optional(inference->dense->latency_us / inference->sparse->latency_us)
             : totals.speedup;
}

bool MeasuredPair::is_like(const base::GemmShape& other, numerics::DataType type, std::string_view sparsity) const {
  return type == dtype && sparsity == pattern && within_twice(other.m, shape.m) && within_twice(other.n, shape.n) &&
         within_twice(other.k, shape.k);
}

double MeasuredPair::gain_error() const {
  return std::abs(simulated_gain() / gain() - 1);
}

bool MeasuredGain::is_known() const {
  constexpr std::size_t kFewest = 10;
  return pairs.size() >= kFewest;
}

double MeasuredGain::mean_error_percent() const {
  base::ensure(!pairs.empty(), "a mean of no pairs");
  constexpr double kPercent = 100;
  double sum = 0;
  for (const MeasuredPair& pair : pairs) {
    sum += pair.gain_error();
  }
  return kPercent * sum / static_cast<double>(pairs.size());
}

}  // namespace sptc::run
