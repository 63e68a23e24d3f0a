// SPDX-License-Identifier: Apache-2.0
#include "models/mma/catalogue.h"
#include "sim/base/clock.h"
#include "sim/base/module.h"
#include "sim/base/run_events.h"
#include "sim/base/wire.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/hardware/tensor_core/issue_interval.h"
#include "sim/hardware/tensor_core/tensor_core.h"
#include "sim/report/show/element_view.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sptc::report::show {
namespace {

isa::WarpInstruction warp_instruction(const mma::MmaInstruction& instruction) {
  const mma::OperandRegisters registers = mma::operand_registers(instruction);
  isa::WarpInstruction result;
  int next = 0;
  const auto take = [&next](int count) {
    const isa::RegisterRange range{next, count};
    next += count;
    return range;
  };
  result.d = result.c = take(registers.accumulator);
  result.a = take(registers.a);
  result.b = take(registers.b);
  result.metadata = take(registers.metadata);
  return result;
}

/// A tensor core, whoever issues one instruction to it, and an observer of its wires.
class Bench : public base::Module {
 public:
  Bench(const base::Clock& clock, const gpu::GpuSpec& gpu, const mma::MmaInstruction& instruction)
      : base::Module("show", clock),
        issue_("issue", clock, 1),
        operands_read_("operands_read", clock, 1),
        done_("done", clock, 1),
        core_("tensor_core", clock, gpu.sm.tensor_core, registers_),
        context_(tensor_core::timed_context(gpu.sm.tensor_core, gpu.numerics, instruction)),
        instruction_(warp_instruction(instruction)) {
    core_.issue_in(issue_);
    core_.operands_read_out(operands_read_);
    core_.done_out(done_);
    run_on(done_);
    core_.observe([this](std::uint64_t /*id*/, const tensor_core::StageWork& work) { add(work); });
  }

  void issue_one() { issue_.write({0, &context_, nullptr, 0, &instruction_, false}); }
  const InstructionCycles& seen() const { return seen_; }

 protected:
  void on_event() override {
    done_.read();
    seen_.done = now();
  }

 private:
  void add(const tensor_core::StageWork& work) {
    constexpr std::array<std::string_view, 5> kStages{"fetch", "select", "multiply", "align_add", "round"};
    // The way from the scheduler is the first cycle of the fetch.
    const bool is_fetch = work.stage == tensor_core::StageWork::Stage::kFetch;
    seen_.spans.push_back(
        {kStages[static_cast<std::size_t>(work.stage)], work.step, is_fetch ? work.begin - 1 : work.begin, work.end});
  }

  base::Wire<tensor_core::MmaIssue> issue_;
  base::Wire<tensor_core::OperandsReadToken> operands_read_;
  base::Wire<tensor_core::MmaDoneToken> done_;
  tensor_core::RegisterFile registers_{0};  ///< nobody reads it: only time is simulated
  tensor_core::TensorCore core_;
  mma::StepContext context_;
  isa::WarpInstruction instruction_;
  InstructionCycles seen_;
};

bool runs_alone(const gpu::GpuSpec& gpu, const mma::MmaInstruction& instruction) {
  if (instruction.family != mma::MmaFamily::kMma || instruction.shape.m != mma::kRows ||
      instruction.shape.n != mma::kCols) {
    return false;
  }
  const mma::CatalogueEntry entry = mma::find_instruction(mma::find_target(gpu.instruction_set), instruction);
  const bool is_one = !entry.is_software && entry.sass.find(" x2") == std::string::npos;
  const int inputs = gpu.sm.tensor_core.selector_inputs;
  return is_one && (!instruction.sparse || instruction.sparse_pattern().candidates() <= inputs) &&
         (instruction.accumulator != numerics::DataType::kF64);
}

}  // namespace

std::optional<InstructionCycles> instruction_cycles(const gpu::GpuSpec& gpu, const mma::MmaInstruction& instruction) {
  if (!runs_alone(gpu, instruction)) {
    return std::nullopt;
  }
  const base::Clock clock(gpu.boost_clock_mhz);
  Bench bench(clock, gpu, instruction);
  base::run_events(sc_core::SC_ZERO_TIME);  // elaborates
  bench.issue_one();
  base::run_events();
  InstructionCycles seen = bench.seen();
  seen.board = gpu.name;
  std::stable_sort(seen.spans.begin(), seen.spans.end(),
                   [](const StageSpan& a, const StageSpan& b) { return a.begin < b.begin; });
  return seen;
}

}  // namespace sptc::report::show
