// SPDX-License-Identifier: Apache-2.0
#include "sim/microbench/microbench.h"

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "models/mma/step_rules.h"
#include "sim/base/run_events.h"
#include "sim/gpu/gpu.h"
#include "sim/microbench/microbench_program.h"
#include "sim/tensor_core/issue_interval.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::microbench {
namespace {

// The steady state is the difference of two runs, which cancels launch, first fill and drain.
constexpr std::int64_t kShortRun = 64;
constexpr std::int64_t kLongRun = 192;
constexpr int kMaxWarpsPerCta = 32;  // 1024 threads

/// The machine instruction that the tensor core sees: a step of m8n8k4 has as many multiplications
/// as the shape of a quarter warp (four quarters x a quarter or a half of the columns).
mma::MmaInstruction machine_instruction(mma::MmaInstruction instruction) {
  const int steps = machine_instructions(instruction);
  if (steps > 1) {
    instruction.shape.m = instruction.shape.m * 4 / steps;
  }
  return instruction;
}

mma::StepContext context_of(const gpu::GpuSpec& spec, const BenchInstruction& bench) {
  const auto* matrix = std::get_if<MatrixInstruction>(&bench);
  const mma::MmaInstruction instruction =
      matrix != nullptr ? machine_instruction(matrix->instruction)
                        : mma::gemm_instruction(numerics::DataType::kF16, false);
  return tensor_core::timed_context(spec.sm.tensor_core, spec.numerics, instruction);
}

void require_modelled(const gpu::GpuSpec& spec, const MatrixInstruction& which) {
  const mma::MmaInstruction& instruction = which.instruction;
  constexpr int kWholeTensorCores = 128;  // rows
  if (instruction.family == mma::MmaFamily::kTcgen05 && instruction.shape.m != kWholeTensorCores) {
    throw base::InputError(instruction.ptx_name() +
                           ": the time of tcgen05.mma is modelled for 128 rows");
  }
  const mma::CatalogueEntry entry =
      mma::find_instruction(mma::find_target(spec.instruction_set), instruction);
  if (entry.is_software) {
    throw base::InputError(instruction.ptx_name() + " runs as a routine without tensor cores on '" +
                           spec.name + "'");
  }
  if (const std::string two = runs_as(entry, instruction); are_two(two)) {
    const bool is_published = !entry.sass.empty();
    throw base::InputError(instruction.ptx_name() + " runs as " + two + " on '" +
                           (is_published ? spec.name : "sm_90") + "', whose time is not modelled" +
                           (is_published ? "" : "; that of '" + spec.name + "' is not published"));
  }
  if (instruction.accumulator == numerics::DataType::kF64 &&
      spec.sm.tensor_core.f64_multipliers == 0) {
    throw base::InputError("'" + spec.name + "' has no f64_multipliers: the time of " +
                           instruction.ptx_name() + " is not known");
  }
  if (!spec.sm.has(instruction.family)) {
    throw base::InputError("'" + spec.name + "' has no " +
                           std::string(mma::name(instruction.family)));
  }
  if (instruction.sparse) {
    spec.require_selector(instruction.sparse_pattern(), instruction.ptx_name());
  }
}

void require_modelled(const gpu::GpuSpec& spec, const SharedLoad& which) {
  if (which.matrix && !has_ldmatrix(mma::find_target(spec.instruction_set))) {
    throw base::InputError("'" + spec.name + "' has no " + name_of(which));
  }
}

void require_modelled(const gpu::GpuSpec& spec, const AsyncCopy& which) {
  const mma::Target& target = mma::find_target(spec.instruction_set);
  const int generation = std::stoi(std::string(target.name.substr(std::string_view("sm_").size())));
  constexpr int kAmpere = 80;
  constexpr int kHopper = 90;
  if (generation < (which.bulk ? kHopper : kAmpere)) {
    throw base::InputError("'" + spec.name + "' has no " + name_of(which));
  }
  if (!which.bulk && which.bytes != 16) {
    throw base::InputError(name_of(which) + " passes the L1, which is not modelled");
  }
}

void require_modelled(const gpu::GpuSpec& spec, const GlobalLoad& which) {
  if (spec.sm.l1_and_shared_memory == base::Bytes()) {
    throw base::InputError("'" + spec.name + "' has no L1 for " + name_of(which));
  }
}

/// Bytes of global memory that one instruction of a warp moves.
std::int64_t global_bytes(const AsyncCopy& which) {
  return which.bulk ? which.bytes : which.bytes * mma::kWarpLanes;
}
std::int64_t global_bytes(const GlobalLoad& which) {
  return which.registers * isa::kRegisterBytes;
}

/// Copies and loads of a microbenchmark: every warp and chain has its own lines, the same in every
/// round.
class CopyTraffic : public sm::CtaTraffic {
 public:
  CopyTraffic(std::int64_t bytes, int ilp) : ilp_(ilp), bytes_(bytes) {}

  sm::MemoryRange range(std::int64_t /*cta*/, int warp, const isa::WarpInstruction& instruction,
                        std::int64_t /*tile*/) const override {
    const std::int64_t place = std::int64_t{warp} * ilp_ + instruction.where.row;
    return {static_cast<std::uint64_t>(place * bytes_), bytes_};
  }

 private:
  int ilp_;
  std::int64_t bytes_;
};

/// Bytes that one instruction of a warp moves.
std::int64_t bytes_of(const BenchInstruction& instruction) {
  if (const auto* copy = std::get_if<AsyncCopy>(&instruction)) {
    return global_bytes(*copy);
  }
  if (const auto* load = std::get_if<GlobalLoad>(&instruction)) {
    return global_bytes(*load);
  }
  return std::get<SharedLoad>(instruction).registers * isa::kRegisterBytes;
}

}  // namespace

class Microbench::Impl {
 public:
  explicit Impl(const gpu::GpuSpec& spec)
      : spec_(one_sm(spec)),
        clock_(spec.boost_clock_mhz),
        gpu_("gpu", clock_, spec_),
        memory_(clock_, spec.memory, spec.sms) {
    base::run_events(sc_core::SC_ZERO_TIME);  // elaborates: ports are bound from here on
  }

  MicrobenchResult run(const MicrobenchCase& which) {
    require_possible(which);
    const mma::StepContext context = context_of(spec_, which.instruction);
    const std::int64_t longer = cycles(which, context, kLongRun);
    const std::int64_t shorter = cycles(which, context, kShortRun);
    MicrobenchResult result;
    result.instruction = name_of(which.instruction);
    result.warps = which.warps;
    result.ilp = which.ilp;
    result.latency_cycles =
        static_cast<double>(longer - shorter) / static_cast<double>(kLongRun - kShortRun);
    const double per_cycle = static_cast<double>(which.warps * which.ilp) / result.latency_cycles;
    if (const auto* matrix = std::get_if<MatrixInstruction>(&which.instruction)) {
      const mma::MmaInstruction& instruction = matrix->instruction;
      const mma::MmaShape& shape = instruction.shape;
      const double of_warp =
          (machine_instructions(instruction) > 1 ? 4.0 : 1.0) / instruction.warps();
      result.sparse = instruction.sparse;
      result.selectors_in_turn = matrix->selectors_in_turn;
      result.fma_per_clk_per_sm = per_cycle * of_warp * shape.m * shape.n * shape.k;
    } else {
      result.bytes_per_clk_per_sm = per_cycle * static_cast<double>(bytes_of(which.instruction));
    }
    return result;
  }

  MemoryBench& memory() { return memory_; }

 private:
  static gpu::GpuSpec one_sm(gpu::GpuSpec spec) {
    spec.sms = 1;
    return spec;
  }

  void require_possible(const MicrobenchCase& which) const {
    const auto* matrix = std::get_if<MatrixInstruction>(&which.instruction);
    if (matrix != nullptr) {
      require_modelled(spec_, *matrix);
    } else if (const auto* copy = std::get_if<AsyncCopy>(&which.instruction)) {
      require_modelled(spec_, *copy);
    } else if (const auto* load = std::get_if<GlobalLoad>(&which.instruction)) {
      require_modelled(spec_, *load);
    } else {
      require_modelled(spec_, std::get<SharedLoad>(which.instruction));
    }
    const int max_warps = std::min(spec_.sm.max_warps, kMaxWarpsPerCta);
    if (which.warps < 1 || which.warps > max_warps) {
      throw base::InputError("warps must be from 1 to " + std::to_string(max_warps) + " on '" +
                             spec_.name + "', not " + std::to_string(which.warps));
    }
    if (matrix != nullptr && which.warps % matrix->instruction.warps() != 0) {
      throw base::InputError(std::string(mma::name(matrix->instruction.family)) +
                             " runs on warpgroups: warps must be a multiple of " +
                             std::to_string(matrix->instruction.warps()) + ", not " +
                             std::to_string(which.warps));
    }
    if (which.ilp < 1) {
      throw base::InputError("ILP must be at least 1, not " + std::to_string(which.ilp));
    }
  }

  std::int64_t cycles(const MicrobenchCase& which, const mma::StepContext& context,
                      std::int64_t iterations) {
    const isa::WarpProgram program = microbench_program(which.instruction, which.ilp, iterations,
                                                        spec_.sm.max_registers_per_thread);
    std::optional<CopyTraffic> traffic;
    if (const auto* copy = std::get_if<AsyncCopy>(&which.instruction)) {
      traffic.emplace(global_bytes(*copy), which.ilp);
    } else if (const auto* load = std::get_if<GlobalLoad>(&which.instruction)) {
      traffic.emplace(global_bytes(*load), which.ilp);
    }
    const sm::KernelLaunch kernel{.program = &program,
                                  .mma_context = &context,
                                  .register_map = nullptr,
                                  .warps_per_cta = which.warps,
                                  .ctas_per_sm = 1,
                                  .ctas = 1,
                                  .memory = nullptr,
                                  .traffic = traffic ? &*traffic : nullptr};
    return gpu_.run(kernel).cycles;
  }

  gpu::GpuSpec spec_;
  base::Clock clock_;
  gpu::Gpu gpu_;
  MemoryBench memory_;
};

Microbench::Microbench(const gpu::GpuSpec& spec) : impl_(std::make_unique<Impl>(spec)) {}

Microbench::~Microbench() = default;

MicrobenchResult Microbench::run(const MicrobenchCase& which) {
  return impl_->run(which);
}

MemoryBench& Microbench::memory() {
  return impl_->memory();
}

}  // namespace sptc::microbench
