// SPDX-License-Identifier: Apache-2.0
#include "sim/run/gemm_launcher.h"

#include "sim/run/estimate.h"

#include <utility>

namespace sptc::run {

GemmLauncher::GemmLauncher(const gpu::GpuSpec& gpu, const RunOptions& options,
                           tensor_core::Waveform* waveform, tensor_core::PassageLog* passages)
    : gpu_(gpu),
      options_(options),
      closed_form_(closed_form_launcher(gpu, options)),
      waveform_(waveform),
      passages_(passages) {
  if (!options.memory.empty()) {
    memory_.emplace(options.memory);
  }
}

GemmLauncher::~GemmLauncher() {
  take_down();
}

void GemmLauncher::take_down() {
  if (context_) {
    const base::SimulationContext::Current inside(*context_);
    dram_.reset();
    simulator_.reset();
  }
  context_.reset();
}

gpu::GemmRun GemmLauncher::operator()(const kernels::GemmProblem& problem,
                                      const kernels::KernelOverrides& overrides,
                                      const std::vector<kernels::GemmOperands>* operands) {
  if (options_.fidelity == Fidelity::kAnalytic) {
    return closed_form_(problem, overrides, operands);
  }
  if (operands != nullptr || memory_ || waveform_ != nullptr || passages_ != nullptr) {
    return simulate(problem, overrides, operands);
  }
  if (!known_) {
    known_ = known_launches(gpu_, options_.extrapolates());
  }
  std::pair key(problem, overrides);
  double& mhz = key.first.conditions.clock_mhz;
  mhz = options_.clock_policy.mhz_of(problem.conditions, gpu_.boost_clock_mhz);
  auto found = known_->find(key);
  if (found == known_->end()) {
    found = known_->emplace(std::move(key), simulate(problem, overrides, nullptr)).first;
  }
  return found->second;
}

gpu::GemmRun GemmLauncher::simulate(const kernels::GemmProblem& problem,
                                    const kernels::KernelOverrides& overrides,
                                    const std::vector<kernels::GemmOperands>* operands) {
  // A DRAM outside has a time of its own, so that of SystemC is the clock of the launch.
  const double mhz =
      memory_ ? options_.clock_policy.mhz_of(problem.conditions, gpu_.boost_clock_mhz) : mhz_;
  if (mhz != mhz_) {
    take_down();
  }
  if (!context_) {
    context_.emplace();
  }
  const base::SimulationContext::Current inside(*context_);
  if (!simulator_) {
    elaborate(mhz);
  }
  simulator_->set_clock(options_.clock_policy);
  return simulator_->run(problem, overrides, operands);
}

void GemmLauncher::elaborate(double mhz) {
  gpu::GemmSimulator::Options build;
  build.extrapolate = options_.extrapolates();
  build.waveform = waveform_;
  build.passages = passages_;
  if (memory_) {
    dram_ = memory_->make(options_.memory_config, gpu_.memory.dram_gb_per_s, mhz);
    build.bind_dram = [this](tlm::tlm_initiator_socket<>& l2) { l2.bind((*dram_)->socket()); };
    build.elaborated_mhz = mhz;
    mhz_ = mhz;
  }
  simulator_.emplace(gpu_, build);
}

GemmTimer::GemmTimer(gpu::GpuSpec gpu, RunOptions options)
    : gpu_(std::move(gpu)),
      options_(std::move(options)),
      launcher_(gpu_, options_),
      kernels_(gpu_, options_, [this](const auto&... launch) { return launcher_(launch...); }) {}

}  // namespace sptc::run
