// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/cta_scheduler.h"

#include "models/base/shape.h"

#include <algorithm>

namespace sptc::sim {

CtaScheduler::CtaScheduler(const sc_core::sc_module_name& name, const Clock& clock, int sms_built,
                           int sms_total)
    : Module(name, clock),
      done_in("done_in", static_cast<std::size_t>(sms_built)),
      launch_out("launch_out", static_cast<std::size_t>(sms_built)),
      all_built_(sms_built == sms_total),
      sms_total_(sms_total) {
  run_on();
  for (auto& port : done_in) {
    sensitive << port;
  }
}

void CtaScheduler::start(const KernelLaunch& kernel, const std::vector<int>& parts) {
  ensure(left_ == 0, "a grid was started before the one before it ended");
  kernel_ = &kernel;
  next_.assign(all_built_ ? 1 : launch_out.size(), all_built_ ? 0 : kernel.ctas);
  left_ = all_built_ ? kernel.ctas : 0;
  for (std::size_t i = 0; !all_built_ && i < std::min(parts.size(), next_.size()); ++i) {
    next_[i] = parts[i];
    left_ += parts[i] < kernel.ctas ? ceil_div(kernel.ctas - parts[i], sms_total_) : 0;
  }
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
  std::int64_t& next = next_[all_built_ ? 0 : built_sm];
  if (next < kernel_->ctas) {
    launch_out[built_sm]->write({kernel_, next});
    next += all_built_ ? 1 : sms_total_;
  }
}

}  // namespace sptc::sim
