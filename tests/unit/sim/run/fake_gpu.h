// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "sim/config/architecture.h"
#include "sim/gpu/timer.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/kernels/kernel_overrides.h"
#include "sim/run/check.h"

#include <functional>
#include <vector>

namespace sptc::run {

/// Stands in for the SystemC GPU: cycles from the padded size at peak rate plus 100, D by the plain
/// arithmetic.
class FakeGpu : public gpu::Timer {
 public:
  int launches = 0;
  std::vector<kernels::GemmProblem> problems;
  std::vector<kernels::KernelOverrides> overrides;              ///< of each problem
  std::function<void(const kernels::KernelOverrides&)> refuse;  ///< may throw
  std::function<void(base::Matrix<numerics::Word>&)> corrupt;   ///< applied to every D

  static config::Architecture architecture() {
    config::Architecture result;
    result.gpu.name = "test-gpu";
    result.gpu.numerics = "ampere";
    result.gpu.sms = 2;
    result.gpu.boost_clock_mhz = 1000;
    result.gpu.sm.sub_partitions = 4;
    result.gpu.sm.tensor_core.dot_units = 32;
    result.gpu.sm.tensor_core.f32_dot_units = 32;
    result.gpu.sm.tensor_core.dot_width_bytes = 16;
    result.parameters = {{"/sms", 2, "", "cited", "a paper"},
                         {"/sm/barrier_latency_cycles", 4, "cycles", "assumed", "none"}};
    return result;
  }

 private:
  gpu::GemmRun launch(const kernels::GemmProblem& problem, const kernels::KernelOverrides& asked,
                      const std::vector<kernels::GemmOperands>* operands) override {
    if (refuse) {
      refuse(asked);
    }
    ++launches;
    problems.push_back(problem);
    overrides.push_back(asked);
    gpu::GemmRun result;
    result.issued_macs = problem.batch * base::round_up(problem.shape.m, 16) * base::round_up(problem.shape.n, 16) *
                         base::round_up(problem.shape.k, 32) / (problem.sparse ? 2 : 1);
    // f16: 4 sub-partitions x 32 dot units x 8 products on 2 SMs.
    result.cycles = base::ceil_div(result.issued_macs, 2048) + 100;
    result.clock_mhz = 1000;
    result.budget.cycles = result.budget.tensor = static_cast<double>(result.cycles);
    if (operands != nullptr) {
      const Arithmetic arithmetic("ampere", problem.dtype, problem.sparse);
      for (const kernels::GemmOperands& entry : *operands) {
        result.d.push_back(plain_gemm(entry, arithmetic));
        if (corrupt) {
          corrupt(result.d.back());
        }
      }
    }
    return result;
  }
};

}  // namespace sptc::run
