// SPDX-License-Identifier: Apache-2.0
#include "sim/run/energy_files.h"

#include "sim/config/cost_factors.h"

#include <algorithm>

namespace sptc::run {

bool EnergyFiles::known(const std::string& name) {
  if (!names_) {
    names_ = config::energy_names();
  }
  return std::find(names_->begin(), names_->end(), name) != names_->end();
}

const config::LoadedEnergy& EnergyFiles::load(const std::string& name) {
  const auto found = loaded_.find(name);
  return found != loaded_.end() ? found->second
                                : loaded_.emplace(name, config::load_energy(name)).first->second;
}

const gpu::GpuSpec* EnergyFiles::gpu_of(const config::LoadedEnergy& loaded,
                                        const config::Architecture& architecture) {
  const std::string& name = loaded.config.name;
  const std::vector<std::string>& bases = architecture.bases;
  const bool related =
      architecture.gpu.name == name || std::find(bases.begin(), bases.end(), name) != bases.end();
  if (!related || !known(name)) {
    return nullptr;
  }
  auto found = gpus_.find(name);
  if (found == gpus_.end()) {
    found = gpus_.emplace(name, config::load_architecture(name).gpu).first;
  }
  return &found->second;
}

std::shared_ptr<const energy::CostFactors> EnergyFiles::factors_of(
    const config::LoadedEnergy& loaded, const energy::PowerSpec& power) {
  const int sms = power.sms_at_rest > 0 ? power.sms_at_rest : power.sms;
  auto& factors = factors_[std::tuple(&loaded, sms, power.static_power.board_idle_w)];
  if (!factors) {
    factors = std::make_shared<const energy::CostFactors>(config::cost_factors(loaded, power));
  }
  return factors;
}

}  // namespace sptc::run
