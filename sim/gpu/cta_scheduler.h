// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/sm/tokens.h"

namespace sptc::sim {

/// Hands CTAs to SMs in order: one per SM in turn until the SMs are full, then one for each that ends. Where fewer SMs
/// are built than the GPU has, the ones that are built get the CTAs that they would get among all.
class CtaScheduler : public Module {
 public:
  sc_core::sc_vector<sc_core::sc_port<WireIn<CtaDone>>> done_in;
  sc_core::sc_vector<sc_core::sc_port<WireOut<CtaLaunch>>> launch_out;

  /// `sms_built` of the `sms_total` SMs exist.
  CtaScheduler(const sc_core::sc_module_name& name, const Clock& clock, int sms_built,
               int sms_total);

  /// Starts a grid. Call between simulations, when the one before has ended.
  void start(const KernelLaunch& kernel);

  std::int64_t ctas_left() const { return left_; }

 protected:
  void on_event() override;

 private:
  void launch_next(std::size_t sm);
  std::int64_t ctas_of_built_sms() const;

  int sms_built_;
  int sms_total_;
  const KernelLaunch* kernel_ = nullptr;
  std::int64_t launched_ = 0;                 ///< all SMs built: CTAs handed out
  std::vector<std::int64_t> launched_on_sm_;  ///< fewer built: per SM
  std::int64_t left_ = 0;
};

}  // namespace sptc::sim
