// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/cta_scheduler.h"

#include "models/base/error.h"

namespace sptc::gpu {

CtaScheduler::CtaScheduler(const sc_core::sc_module_name& name, const base::Clock& clock, int sms)
    : base::Module(name, clock),
      done_in("done_in", static_cast<std::size_t>(sms)),
      launch_out("launch_out", static_cast<std::size_t>(sms)) {
  run_on();
  for (auto& port : done_in) {
    sensitive << port;
  }
}

void CtaScheduler::start(const sm::KernelLaunch& kernel) {
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

void CtaScheduler::launch_behind_ended() {
  for (std::size_t sm = 0; sm < done_in.size(); ++sm) {
    while (done_in[sm]->can_read()) {
      done_in[sm]->read();
      --resident_;
      launch_next(sm);
    }
  }
}

void CtaScheduler::launch_next(std::size_t sm) {
  if (next_ < kernel_->ctas && left_[sm] > 0) {
    --left_[sm];
    ++resident_;
    launch_out[sm]->write({kernel_, next_++});
  }
}

}  // namespace sptc::gpu
