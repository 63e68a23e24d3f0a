// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "tests/hardware/capture/device.h"

namespace sptc::hardware {

/// In place of a GPU: reads the registers back into matrices and executes the instruction with the
/// arithmetic of models/. Has no clock, so it yields bits and probes only.
class SimulatedDevice final : public Device {
 public:
  explicit SimulatedDevice(const mma::Target& target);

  const DeviceInfo& info() const override { return info_; }
  bool has(const std::string& ptx) const override;
  std::vector<std::uint32_t> run(const MmaLaunch& launch) override;
  std::string origin() const override { return "simulated"; }

 private:
  mma::Target target_;
  DeviceInfo info_;
};

}  // namespace sptc::hardware
