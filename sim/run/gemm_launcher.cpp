// SPDX-License-Identifier: Apache-2.0
#include "sim/run/gemm_launcher.h"

#include "sim/run/estimate.h"

#include <utility>

namespace sptc::run {

GemmLauncher::GemmLauncher(const gpu::GpuSpec& gpu, const RunOptions& options,
                           tensor_core::Waveform* waveform, tensor_core::PassageLog* passages)
    : gpu_(gpu), options_(options), waveform_(waveform), passages_(passages) {}

GemmLauncher::~GemmLauncher() {
  if (context_) {
    const base::SimulationContext::Current inside(*context_);
    simulator_.reset();
  }
}

gpu::GemmRun GemmLauncher::operator()(const kernels::GemmProblem& problem,
                                      const kernels::KernelOverrides& overrides,
                                      const std::vector<kernels::GemmOperands>* operands) {
  if (options_.fidelity == Fidelity::kAnalytic) {
    return closed_form_launcher(gpu_, options_)(problem, overrides, operands);
  }
  if (!context_) {
    context_.emplace();
  }
  const base::SimulationContext::Current inside(*context_);
  if (!simulator_) {
    gpu::GemmSimulator::Options build;
    build.sms = options_.simulated_sms();
    build.extrapolate = options_.extrapolates();
    build.waveform = waveform_;
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
