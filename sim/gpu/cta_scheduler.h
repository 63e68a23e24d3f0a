// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/sm/tokens.h"

#include <cstdint>
#include <functional>

namespace sptc::gpu {

/// Hands CTAs to SMs: one per SM in turn until the SMs are full, then one for each that ends. Which
/// one that is says somebody else where a few SMs are built for all.
class CtaScheduler : public base::Module {
 public:
  sc_core::sc_vector<sc_core::sc_port<base::WireIn<sm::CtaDone>>> done_in;
  sc_core::sc_vector<sc_core::sc_port<base::WireOut<sm::CtaLaunch>>> launch_out;

  /// The CTA for an SM, by its number among those that are built, on which CTA `ended` ended (-1:
  /// the SM is not full yet). -1: none.
  using NextCta = std::function<std::int64_t(std::size_t sm, std::int64_t ended)>;

  CtaScheduler(const sc_core::sc_module_name& name, const base::Clock& clock, int sms_built);

  /// Starts a grid. Call between simulations, when the one before has ended.
  void start(const sm::KernelLaunch& kernel, NextCta next_cta);

  /// Launches CTAs for those whose end is known by now: what the block does in a cycle anyway, for
  /// who has to come behind it there.
  void launch_behind_ended();

  /// CTAs that were launched and have not ended.
  std::int64_t resident() const { return resident_; }

 protected:
  void on_event() override { launch_behind_ended(); }

 private:
  void launch_next(std::size_t sm, std::int64_t ended);

  const sm::KernelLaunch* kernel_ = nullptr;
  NextCta next_cta_;
  std::int64_t resident_ = 0;
};

}  // namespace sptc::gpu
