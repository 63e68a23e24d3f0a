// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/sm/tokens.h"

#include <cstdint>
#include <vector>

namespace sptc::gpu {

/// Hands CTAs to SMs: one per SM in turn until the SMs are full, then one for each that ends: the
/// next one, or none where the SM has had its share (KernelLaunch::most_ctas_of_sm).
class CtaScheduler : public base::Module {
 public:
  sc_core::sc_vector<sc_core::sc_port<base::WireIn<sm::CtaDone>>> done_in;
  sc_core::sc_vector<sc_core::sc_port<base::WireOut<sm::CtaLaunch>>> launch_out;

  CtaScheduler(const sc_core::sc_module_name& name, const base::Clock& clock, int sms);

  /// Starts a grid. Call between simulations, when the one before has ended.
  void start(const sm::KernelLaunch& kernel);

  /// Launches CTAs for those whose end is known: what the block does in this cycle anyway.
  void launch_behind_ended();

  std::int64_t resident() const { return resident_; }

 protected:
  void on_event() override { launch_behind_ended(); }

 private:
  void launch_next(std::size_t sm);

  const sm::KernelLaunch* kernel_ = nullptr;
  std::int64_t next_ = 0;           ///< CTA
  std::vector<std::int64_t> left_;  ///< CTAs that each SM may still get
  std::int64_t resident_ = 0;
};

}  // namespace sptc::gpu
