// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/cost_factor.h"
#include "sim/config/energy.h"

#include <map>
#include <string>
#include <vector>

namespace sptc::config {

/// The constants of energy files as factors, each as wide as its range. A number that two files
/// share (pointer, value, range and source are equal) is one factor. Voltages count as one: the
/// supply at each clock moves with that at the boost clock. The shares of events that do not depend
/// on operands stay as they are.
class CostFactorList {
 public:
  /// The factors of energies with operands of `type`. `power`: as power_spec() makes it of
  /// `energy`.
  energy::PartFactors add_energies(const LoadedEnergy& energy, numerics::DataType type, const energy::PowerSpec& power);
  /// The factor of an amount that consists of parts with these `factors`, in an unknown mixture.
  int add_mixture(const std::vector<int>& factors);
  energy::AreaFactors add_areas(const LoadedEnergy& energy);

  const std::vector<energy::CostFactor>& factors() const { return factors_; }

 private:
  int add(const std::string& key, double low, double high, int under);
  /// The number at `pointer`, under the factor of its process node where it has one (`scaling`: its
  /// key), else under `under`.
  int add_number(const LoadedEnergy& energy, const std::string& pointer, const std::string& scaling, int under);
  /// The factor of what flows in an SM with work: its leakage and its clock.
  int add_working_sm(const LoadedEnergy& energy, int supply);

  std::map<std::string, int> known_;
  std::vector<energy::CostFactor> factors_;
};

/// The factors of every type that has energies.
energy::CostFactors cost_factors(const LoadedEnergy& energy, const energy::PowerSpec& power);

}  // namespace sptc::config
