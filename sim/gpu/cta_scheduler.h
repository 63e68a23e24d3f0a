// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/sm/tokens.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sptc::gpu {

/// Hands CTAs to SMs: one per SM in turn until the SMs are full, then one for each that ends: the
/// next one, or none where the SM has had its share (KernelLaunch::most_ctas_of_sm).
class CtaScheduler : public base::Module {
 public:
  sc_core::sc_vector<sc_core::sc_port<base::WireIn<sm::CtaDone>>> done_in;
  sc_core::sc_vector<sc_core::sc_port<base::WireOut<sm::CtaLaunch>>> launch_out;

  CtaScheduler(const sc_core::sc_module_name& name, const base::Clock& clock, int sms)
      : base::Module(name, clock),
        done_in("done_in", static_cast<std::size_t>(sms)),
        launch_out("launch_out", static_cast<std::size_t>(sms)) {
    run_on();
    for (auto& port : done_in) {
      sensitive << port;
    }
  }

  /// Starts a grid. Call between simulations, when the one before has ended.
  void start(const sm::KernelLaunch& kernel) {
    base::ensure(resident_ == 0, "a grid was started before the one before it ended");
    kernel_ = &kernel;
    next_ = 0;
    const auto sms = static_cast<std::int64_t>(launch_out.size());
    left_.assign(launch_out.size(), kernel.most_ctas_of_sm(sms));
    for (int place = 0; place < kernel.ctas_per_sm; ++place) {
      for (std::size_t sm = 0; sm < launch_out.size(); ++sm) {
        launch_next(sm);
      }
    }
  }

  /// Launches CTAs for those whose end is known: what the block does in this cycle anyway.
  void launch_behind_ended() {
    for (std::size_t sm = 0; sm < done_in.size(); ++sm) {
      while (done_in[sm]->can_read()) {
        done_in[sm]->read();
        --resident_;
        launch_next(sm);
      }
    }
  }

  std::int64_t resident() const { return resident_; }

 protected:
  void on_event() override { launch_behind_ended(); }

 private:
  void launch_next(std::size_t sm) {
    if (next_ < kernel_->ctas && left_[sm] > 0) {
      --left_[sm];
      ++resident_;
      launch_out[sm]->write({kernel_, next_++});
    }
  }

  const sm::KernelLaunch* kernel_ = nullptr;
  std::int64_t next_ = 0;           ///< CTA
  std::vector<std::int64_t> left_;  ///< CTAs that each SM may still get
  std::int64_t resident_ = 0;
};

}  // namespace sptc::gpu
