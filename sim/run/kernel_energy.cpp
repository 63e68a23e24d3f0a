// SPDX-License-Identifier: Apache-2.0
#include "sim/run/kernel_energy.h"

#include "models/base/error.h"
#include "sim/kernels/gemm_kernel.h"
#include "sim/run/design_cost.h"

#include <algorithm>

namespace sptc::run {
namespace {

using energy::Event;

/// Bytes of registers that a lane reads and writes in an instruction: two operands and a result.
constexpr double kReadOfLane = 8, kWrittenOfLane = 4;

/// The products of attention: as GEMMs whose tiles no copy brings.
void add_products(const network::PlannedKernel& kernel, const network::Network& network,
                  const gpu::GpuSpec& gpu, const energy::PowerSpec& power,
                  SwitchingSource& switching, energy::EventCounts& counts) {
  for (const std::size_t i : kernel.gemms) {
    const workload::Operation& op = network.gemms[i];
    kernels::GemmProblem problem;
    problem.shape = op.shape;
    problem.batch = op.batch;
    problem.dtype = op.dtype;
    VariantResult figures;
    figures.kernel.instruction = kernels::kernel_instruction(problem, gpu.kernel_target());
    figures.design = design_cost(gpu, op.dtype);
    counts += launch_events(op, false, figures, switching.of(op, false), power.dot_width_bytes);
  }
}

}  // namespace

energy::Work work_of_kernel(const network::PlannedKernel& kernel, const network::Network& network,
                            const network::ClosedForm& form, const gpu::GpuSpec& gpu,
                            const energy::PowerSpec& power, SwitchingSource& switching) {
  const workload::Operation* const beside = network::gemm_beside(kernel, network);
  base::ensure(beside != nullptr, "a network without GEMMs has no energies");
  const workload::Operation& op = *beside;
  const energy::Switching& values = switching.of(op, false);
  const double switched = (values.operand_a + values.operand_b) / 2;
  energy::EventCounts counts(op.dtype);
  add_products(kernel, network, gpu, power, switching, counts);
  const network::KernelEvents& events = form.events;
  counts.add(Event::kCudaCoreFma, events.lane_operations, values.accumulators);
  counts.add(Event::kRegisterRead, events.lane_operations * kReadOfLane, values.accumulators);
  counts.add(Event::kRegisterWrite, events.lane_operations * kWrittenOfLane + events.l2_bytes,
             values.accumulators);
  counts.add(Event::kSharedMemoryRead, events.shared_memory_bytes, switched);
  add_outer_memory(events.l2_bytes, events.dram_bytes, switched, counts);
  counts.add(Event::kInstructionIssue, events.instructions);
  const double boost_mhz = gpu.boost_clock_mhz;
  const double fed = form.times.tensor_us / form.times.time_us(1);
  return {
      counts,
      [times = form.times, boost_mhz](double mhz) { return 1e-6 * times.time_us(mhz / boost_mhz); },
      form.times.busy_sms, std::clamp(fed, 0.01, 1.0)};
}

}  // namespace sptc::run
