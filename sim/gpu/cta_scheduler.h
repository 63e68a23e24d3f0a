// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/sm/tokens.h"

#include <cstdint>
#include <vector>

namespace sptc::sim {

/// Hands CTAs to SMs in order: one per SM in turn until the SMs are full, then one for each that
/// ends. Where one SM is built for all, it gets the CTAs that one of the SMs would get.
class CtaScheduler : public Module {
 public:
  sc_core::sc_vector<sc_core::sc_port<WireIn<CtaDone>>> done_in;
  sc_core::sc_vector<sc_core::sc_port<WireOut<CtaLaunch>>> launch_out;

  /// `sms_built` SMs exist, all of the `sms_total` or one.
  CtaScheduler(const sc_core::sc_module_name& name, const Clock& clock, int sms_built,
               int sms_total);

  /// Starts a grid. Call between simulations, when the one before has ended. Where one SM is built,
  /// it plays the part of SM `sm`.
  void start(const KernelLaunch& kernel, int sm);

  std::int64_t ctas_left() const { return left_; }

 protected:
  void on_event() override;

 private:
  void launch_next(std::size_t built_sm);

  const KernelLaunch* kernel_ = nullptr;
  std::int64_t sms_total_;
  std::int64_t next_ = 0;    ///< CTA to hand out
  std::int64_t stride_ = 1;  ///< to the one after it: 1 where all SMs are built
  std::int64_t left_ = 0;
};

}  // namespace sptc::sim
