// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/cta_scheduler.h"

#include <algorithm>

#include "models/base/shape.h"

namespace sptc::sim {

CtaScheduler::CtaScheduler(const sc_core::sc_module_name& name, const Clock& clock, int sms_built,
                           int sms_total)
    : Module(name, clock),
      done_in("done_in", static_cast<std::size_t>(sms_built)),
      launch_out("launch_out", static_cast<std::size_t>(sms_built)),
      sms_built_(sms_built),
      sms_total_(sms_total) {
  run_on();
  for (auto& port : done_in) {
    sensitive << port;
  }
}

void CtaScheduler::start(const KernelLaunch& kernel) {
  ensure(left_ == 0, "a grid was started before the one before it ended");
  kernel_ = &kernel;
  launched_ = 0;
  launched_on_sm_.assign(static_cast<std::size_t>(sms_built_), 0);
  left_ = ctas_of_built_sms();
  for (int slot = 0; slot < kernel.ctas_per_sm; ++slot) {
    for (std::size_t sm = 0; sm < launch_out.size(); ++sm) {
      launch_next(sm);
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

void CtaScheduler::launch_next(std::size_t sm) {
  const bool all_built = sms_built_ == sms_total_;
  const std::int64_t cta =
      all_built ? launched_ : static_cast<std::int64_t>(sm) + launched_on_sm_[sm] * sms_total_;
  if (cta >= kernel_->ctas) {
    return;
  }
  ++launched_;
  ++launched_on_sm_[sm];
  launch_out[sm]->write({kernel_, cta});
}

std::int64_t CtaScheduler::ctas_of_built_sms() const {
  if (sms_built_ == sms_total_) {
    return kernel_->ctas;
  }
  std::int64_t count = 0;
  for (int sm = 0; sm < sms_built_; ++sm) {
    count += std::max<std::int64_t>(ceil_div(kernel_->ctas - sm, sms_total_), 0);
  }
  return count;
}

}  // namespace sptc::sim
