// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/cta_scheduler.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/sm/sm.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sptc::sim {

/// What one grid did.
struct GridRun {
  std::int64_t cycles = 0;                   ///< launch of the first CTA to the end of the last
  std::vector<std::vector<CtaRecord>> ctas;  ///< per SM, in the order in which they ended
};

/// SMs and the CTA scheduler, wired. Grids run one after the other.
class Gpu : public sc_core::sc_module {
 public:
  Gpu(const sc_core::sc_module_name& name, const Clock& clock, const GpuSpec& spec, int sms_built);

  /// Runs `kernel` to its end. Where one SM is built, runs the CTAs of SM `sm`. Throws
  /// InternalError where the simulation gets stuck, with what is resident.
  GridRun run(const KernelLaunch& kernel, int sm = 0);

  /// Of all built SMs, since the start of the simulation.
  Activity activity() const;

  const std::vector<std::unique_ptr<Sm>>& sms() const { return sms_; }

 private:
  /// The wires between one SM and the CTA scheduler.
  struct Links {
    Links(int index, const Clock& clock);
    Wire<CtaLaunch> launch;
    Wire<CtaDone> done;
  };

  void report_stuck() const;

  const Clock& clock_;
  CtaScheduler scheduler_;
  std::vector<std::unique_ptr<Sm>> sms_;
  std::vector<std::unique_ptr<Links>> links_;
};

}  // namespace sptc::sim
