// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/analytic_gemm.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/kernels/grid_reuse.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/kernels/kernel_estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::gpu {

void require_selector(const kernels::GemmProblem& problem, const GpuSpec& gpu) {
  if (problem.sparse) {
    const sparsity::Pattern pattern = problem.pattern.value_or(sparsity::hardware_pattern(problem.dtype));
    gpu.require_selector(pattern, pattern.name() + " " + std::string(numerics::name(problem.dtype)));
  }
}

void require_simulated(const kernels::GemmKernel& kernel, bool values) {
  if (kernel.problem.vector_rows > 0) {
    throw base::InputError("V:N:M weights are not simulated in SystemC: use --fidelity analytic");
  }
  const bool narrow = numerics::storage_bits(kernel.problem.dtype) < 8;
  if (values && (narrow || !kernel.problem.storage.plain())) {
    throw base::InputError(
        "--fidelity datapath computes no operands below 8 bits, with scales or stored in another "
        "type than they are multiplied in: use timing or analytic");
  }
}

namespace {

void look_up_instruction(const mma::MmaInstruction& instruction, const GpuSpec& gpu) {
  if (gpu.instruction_set != gpu.numerics && !gpu.instruction_set.empty()) {
    const auto entries = mma::instructions(mma::find_target(gpu.instruction_set));
    if (std::any_of(entries.begin(), entries.end(),
                    [&](const mma::CatalogueEntry& entry) { return entry.covers(instruction); })) {
      return;
    }
  }
  mma::find_instruction(mma::find_target(gpu.numerics), instruction);
}

/// Throws where the tensor cores of `gpu` have no such multipliers, though PTX has the name.
void require_multipliers(const mma::MmaInstruction& instruction, const GpuSpec& gpu) {
  const std::string& set = gpu.instruction_set.empty() ? gpu.numerics : gpu.instruction_set;
  const bool blackwell = set == "blackwell" || set == "rtx-blackwell";
  if (instruction.scales && !blackwell) {
    throw base::InputError(gpu.name + " multiplies no blocks with scales: Blackwell does");
  }
  if (instruction.a_type == numerics::DataType::kS4 && (set == "hopper" || blackwell)) {
    throw base::InputError(gpu.name +
                           " multiplies no 4-bit integers, it widens them to 8 bits in other "
                           "instructions: Turing, Ampere and Ada do");
  }
}

}  // namespace

void require_instruction(const mma::MmaInstruction& instruction, const GpuSpec& gpu) {
  require_multipliers(instruction, gpu);
  if (instruction.scales) {
    return;  // B200 has them in tcgen05 alone, and mxf8f6f4 with 2:4 has no row in the catalogue
  }
  if (kernels::is_explored(instruction)) {
    return;  // the architecture file asks for it
  }
  struct Found {
    std::string numerics, instruction_set;
    mma::MmaInstruction instruction;
    bool operator==(const Found&) const = default;
  };
  thread_local std::vector<Found> found;
  const Found wanted{gpu.numerics, gpu.instruction_set, instruction};
  if (std::find(found.begin(), found.end(), wanted) != found.end()) {
    return;
  }
  look_up_instruction(instruction, gpu);
  found.push_back(wanted);
}

double counted_dram_us(const kernels::GemmKernel& kernel, const kernels::KernelTarget& target) {
  const kernels::DramBytes dram = kernels::dram_bytes(kernel, target.memory, target.sms);
  const kernels::MemoryTraffic traffic =
      waited_for(kernel, kernels::closed_form_traffic(kernel, dram, target.sms), target.sms);
  return static_cast<double>(traffic.l2_and_dram.dram()) / target.memory.dram_bytes_per_cycle(target.boost_clock_mhz) /
         target.boost_clock_mhz;
}

GemmRun faster_of(GemmRun first, GemmRun second) {
  if (second.time_us() < first.time_us()) {
    std::swap(first, second);
  }
  if (!first.runner_up || second.time_us() < first.runner_up->us) {
    first.runner_up = kernels::RunnerUp{second.kernel, second.time_us()};
  }
  return first;
}

GemmRun ClosedFormTimer::launch(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                                const std::vector<kernels::GemmOperands>* /*operands*/) {
  kernels::GemmProblem at_any_clock = problem;
  at_any_clock.conditions.clock_mhz = 0;
  auto found = forms_.find({at_any_clock, overrides});
  if (found == forms_.end()) {
    found = forms_.emplace(std::pair(at_any_clock, overrides), forms_of(at_any_clock, overrides)).first;
  }
  const double mhz = clock_.mhz_of(problem.conditions, gpu_.boost_clock_mhz);
  std::optional<GemmRun> best;
  for (const Form& form : found->second) {
    GemmRun run = run_of(form, mhz);
    best = best ? faster_of(std::move(*best), std::move(run)) : std::move(run);
  }
  return *best;
}

std::vector<ClosedFormTimer::Form> ClosedFormTimer::forms_of(const kernels::GemmProblem& problem,
                                                             const kernels::KernelOverrides& overrides) const {
  require_selector(problem, gpu_);
  constexpr int kFirstAndSecond = 2;
  const kernels::KernelTarget target = gpu_.kernel_target();
  std::vector<Form> forms;
  for (const kernels::GemmKernel& kernel :
       kernels::candidate_kernels(problem, overrides, target, false, kFirstAndSecond)) {
    require_instruction(kernel.instruction, gpu_);
    const kernels::DramBytes dram = kernels::dram_bytes(kernel, gpu_.memory, gpu_.sms);
    forms.push_back({kernel, kernels::estimate(kernel, target), kernels::closed_form_traffic(kernel, dram, gpu_.sms)});
  }
  return forms;
}

GemmRun ClosedFormTimer::run_of(const Form& form, double clock_mhz) const {
  const auto& [kernel, times, traffic] = form;
  GemmRun result;
  result.kernel = kernel.result(gpu_.sms);
  result.issued_macs = kernel.issued_macs();
  result.clock_mhz = clock_mhz;
  result.clock_scaling = {times, gpu_.boost_clock_mhz};
  result.traffic = traffic;
  result.reduction = kernels::reduction_bytes(kernel, gpu_.memory);
  result.budget = cycle_budget(kernel, waited_for(kernel, traffic, gpu_.sms), 0, clock_mhz, gpu_);
  const double in_sms = times.time_us(clock_mhz / gpu_.boost_clock_mhz) - times.outside_us();
  // Counts per CTA, of traffic and of metadata in whole registers, may exceed those of the form.
  const double in_dram = result.budget.dram - times.drained_us() * clock_mhz;
  const double cycles = std::max({in_sms * clock_mhz, in_dram, result.budget.shared_memory});
  result.cycles = std::max<std::int64_t>(1, std::llround(cycles));
  result.budget.cycles = static_cast<double>(result.cycles);
  result.budget.dram = std::min(result.budget.dram, result.budget.cycles);
  result.launch_us = kernels::launch_overhead_us(kernel, times, gpu_.launch);
  return result;
}

GemmRun analytic_gemm(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                      const GpuSpec& gpu, const ClockPolicy& clock) {
  return ClosedFormTimer(gpu, clock).time(problem, overrides, nullptr);
}

}  // namespace sptc::gpu
