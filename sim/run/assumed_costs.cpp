// SPDX-License-Identifier: Apache-2.0
#include "sim/run/assumed_costs.h"

#include "sim/config/architecture_fields.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::run {
namespace {

/// What twice the cost makes of a number whose key ends so; 1: it is no cost.
double factor_of(std::string_view key) {
  constexpr std::pair<std::string_view, double> kFactors[] = {
      {"_bytes_per_cycle", 0.5}, {"_cycles", 2},   {"_us", 2}, {"_ns", 2},
      {"_gb_per_s", 0.5},        {"_percent", 0.5}};
  const auto* const found =
      std::find_if(std::begin(kFactors), std::end(kFactors),
                   [key](const auto& factor) { return key.ends_with(factor.first); });
  return found == std::end(kFactors) ? 1 : found->second;
}

}  // namespace

gpu::GpuSpec with_twice_the_assumed_costs(const config::Architecture& architecture) {
  std::map<std::string, double> worse;
  for (const config::Parameter& parameter : architecture.parameters) {
    if (parameter.evidence == "assumed") {
      worse[parameter.pointer] = parameter.value;
    }
  }
  gpu::GpuSpec gpu = architecture.gpu;
  for (const config::ArchitectureField& field : config::architecture_fields()) {
    const auto found = worse.find(std::string(field.section) + "/" + std::string(field.key));
    const double factor = factor_of(field.key);
    if (found != worse.end() && factor != 1) {
      const double value = found->second * factor;
      field.store(gpu, field.integer ? std::max(1.0, std::floor(value)) : value);
    }
  }
  return gpu;
}

}  // namespace sptc::run
