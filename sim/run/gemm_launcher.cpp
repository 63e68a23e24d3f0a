// SPDX-License-Identifier: Apache-2.0
#include "sim/run/gemm_launcher.h"

#include "models/base/error.h"
#include "sim/run/estimate.h"

#include <systemc>

#include <utility>

namespace sptc::run {

GemmLauncher::GemmLauncher(const gpu::GpuSpec& gpu, const RunOptions& options, std::string vcd_file,
                           tensor_core::PassageLog* passages)
    : gpu_(gpu), options_(options), vcd_file_(std::move(vcd_file)), passages_(passages) {}

gpu::GemmRun GemmLauncher::operator()(const kernels::GemmProblem& problem,
                                      const kernels::KernelOverrides& overrides,
                                      const std::vector<kernels::GemmOperands>* operands) {
  if (options_.fidelity == Fidelity::kAnalytic) {
    return closed_form_launcher(gpu_, options_)(problem, overrides, operands);
  }
  if (!simulator_) {
    base::ensure(sc_core::sc_get_status() == sc_core::SC_ELABORATION,
                 "SystemC has simulated in this process and does so once: use a SeparateProcess");
    gpu::GemmSimulator::Options build;
    build.sms = options_.simulated_sms();
    build.extrapolate = options_.extrapolates();
    build.vcd_file = vcd_file_;
    build.passages = passages_;
    simulator_.emplace(gpu_, build);
  }
  simulator_->set_clock(options_.clock_policy);
  return simulator_->run(problem, overrides, operands);
}

GemmTimer::GemmTimer(gpu::GpuSpec gpu, RunOptions options)
    : gpu_(std::move(gpu)),
      options_(std::move(options)),
      launcher_(gpu_, options_),
      kernels_(gpu_, options_, [this](const auto&... launch) { return launcher_(launch...); }) {}

}  // namespace sptc::run
