// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/cta_scheduler.h"

#include "models/base/shape.h"

namespace sptc::sim {

CtaScheduler::CtaScheduler(const sc_core::sc_module_name& name, const Clock& clock, int sms_built,
                           int sms_total)
    : Module(name, clock),
      done_in("done_in", static_cast<std::size_t>(sms_built)),
      launch_out("launch_out", static_cast<std::size_t>(sms_built)),
      sms_total_(sms_total),
      stride_(sms_built == sms_total ? 1 : sms_total) {
  ensure(sms_built == sms_total || sms_built == 1, "all SMs are built, or one for all");
  run_on();
  for (auto& port : done_in) {
    sensitive << port;
  }
}

void CtaScheduler::start(const KernelLaunch& kernel, int sm) {
  ensure(left_ == 0, "a grid was started before the one before it ended");
  kernel_ = &kernel;
  next_ = stride_ == 1 ? 0 : sm;
  left_ = next_ < kernel.ctas ? ceil_div(kernel.ctas - next_, stride_) : 0;
  for (int slot = 0; slot < kernel.ctas_per_sm; ++slot) {
    for (std::size_t built = 0; built < launch_out.size(); ++built) {
      launch_next(built);
    }
  }
}

void CtaScheduler::on_event() {
  for (std::size_t sm = 0; sm < done_in.size(); ++sm) {
    while (done_in[sm]->can_read()) {
      done_in[sm]->read();
      --left_;
      launch_next(sm);
    }
  }
}

void CtaScheduler::launch_next(std::size_t built_sm) {
  if (next_ < kernel_->ctas) {
    launch_out[built_sm]->write({kernel_, next_});
    next_ += stride_;
  }
}

}  // namespace sptc::sim
