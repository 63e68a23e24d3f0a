// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/cta_scheduler.h"

#include "models/base/error.h"

#include <utility>

namespace sptc::gpu {

CtaScheduler::CtaScheduler(const sc_core::sc_module_name& name, const base::Clock& clock,
                           int sms_built)
    : base::Module(name, clock),
      done_in("done_in", static_cast<std::size_t>(sms_built)),
      launch_out("launch_out", static_cast<std::size_t>(sms_built)) {
  run_on();
  for (auto& port : done_in) {
    sensitive << port;
  }
}

void CtaScheduler::start(const sm::KernelLaunch& kernel, NextCta next_cta) {
  base::ensure(resident_ == 0, "a grid was started before the one before it ended");
  kernel_ = &kernel;
  next_cta_ = std::move(next_cta);
  for (int place = 0; place < kernel.ctas_per_sm; ++place) {
    for (std::size_t sm = 0; sm < launch_out.size(); ++sm) {
      launch_next(sm, -1);
    }
  }
}

void CtaScheduler::launch_behind_ended() {
  for (std::size_t sm = 0; sm < done_in.size(); ++sm) {
    while (done_in[sm]->can_read()) {
      --resident_;
      launch_next(sm, done_in[sm]->read().cta);
    }
  }
}

void CtaScheduler::launch_next(std::size_t sm, std::int64_t ended) {
  if (const std::int64_t cta = next_cta_(sm, ended); cta >= 0) {
    ++resident_;
    launch_out[sm]->write({kernel_, cta});
  }
}

}  // namespace sptc::gpu
