// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/sm/tokens.h"

#include <cstdint>
#include <vector>

namespace sptc::sim {

/// Hands CTAs to SMs in order: one per SM in turn until the SMs are full, then one for each that
/// ends. Where a few SMs are built for all, each gets the CTAs that one of all would get.
class CtaScheduler : public Module {
 public:
  sc_core::sc_vector<sc_core::sc_port<WireIn<CtaDone>>> done_in;
  sc_core::sc_vector<sc_core::sc_port<WireOut<CtaLaunch>>> launch_out;

  /// `sms_built` SMs exist, all of the `sms_total` or fewer.
  CtaScheduler(const sc_core::sc_module_name& name, const Clock& clock, int sms_built,
               int sms_total);

  /// Starts a grid. Call between simulations, when the one before has ended. Where not all SMs are
  /// built, they play the parts of SMs `parts`; those without a part stay idle.
  void start(const KernelLaunch& kernel, const std::vector<int>& parts);

  std::int64_t ctas_left() const { return left_; }

 protected:
  void on_event() override;

 private:
  void launch_next(std::size_t built_sm);

  const KernelLaunch* kernel_ = nullptr;
  bool all_built_;
  std::int64_t sms_total_;
  std::vector<std::int64_t>
      next_;  ///< CTA to hand out: one for all, or one for each SM that is built
  std::int64_t left_ = 0;
};

}  // namespace sptc::sim
