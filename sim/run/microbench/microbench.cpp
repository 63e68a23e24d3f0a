// SPDX-License-Identifier: Apache-2.0
#include "sim/run/microbench/microbench.h"

#include "models/base/shape.h"
#include "models/mma/catalogue.h"
#include "models/mma/fragment_layout.h"
#include "sim/base/run_events.h"
#include "sim/hardware/isa/warp_instruction.h"
#include "sim/hardware/sm/warpgroup_operands.h"
#include "sim/hardware/sm/warpgroup_unit.h"
#include "sim/hardware/tensor_core/issue_interval.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace sptc::run::microbench {
namespace {

// The steady state is the difference of two runs, which cancels launch, first fill and drain.
constexpr std::int64_t kShortRun = 64;
constexpr std::int64_t kLongRun = 192;

/// Machine instructions that one PTX instruction becomes: 4 or 2 steps for m8n8k4 of f16, whose
/// shape in PTX is that of a quarter of the warp; else 1.
int machine_instructions(const mma::MmaInstruction& instruction) {
  if (instruction.shape == mma::MmaShape{8, 8, 4} && instruction.a_type == numerics::DataType::kF16) {
    return instruction.accumulator == numerics::DataType::kF32 ? 4 : 2;
  }
  return 1;
}

int registers_for(std::int64_t elements, numerics::DataType type) {
  return static_cast<int>(base::ceil_div(elements * numerics::storage_bits(type), 8 * isa::kRegisterBytes));
}

/// Hands out registers of a thread from 0 on.
class Allocator {
 public:
  explicit Allocator(int max) : max_(max) {}

  isa::RegisterRange take(int count) {
    const isa::RegisterRange range{next_, count};
    next_ += count;
    if (next_ > max_) {
      io::refuse("these chains need more than the {} registers of a thread: lower the ILP", max_);
    }
    return range;
  }

 private:
  int max_;
  int next_ = 0;
};

/// Elements of a warp: one of a warpgroup has a quarter of the rows of wgmma. In m8n8k4 of f16 four
/// quarters of the warp each have a matrix of their own.
struct FragmentSizes {
  int a = 0, b = 0, accumulator = 0;
};

FragmentSizes fragment_sizes(const mma::MmaInstruction& instruction) {
  const mma::MmaShape& shape = instruction.shape;
  const bool quarters = machine_instructions(instruction) > 1;
  const int rows = (quarters ? shape.m * 4 : shape.m) / instruction.warps();
  const int columns = quarters ? shape.n * 4 : shape.n;
  return {registers_for(std::int64_t{rows} * instruction.compressed_k(), instruction.a_type),
          registers_for(std::int64_t{columns} * shape.k, instruction.b_type),
          registers_for(std::int64_t{rows} * shape.n, instruction.accumulator)};
}

void add_mma(const MatrixInstruction& which, int ilp, Allocator& registers, std::vector<isa::WarpInstruction>& code) {
  const mma::MmaInstruction& instruction = which.instruction;
  const FragmentSizes sizes = fragment_sizes(instruction);
  const isa::RegisterRange a = registers.take(sizes.a);
  const isa::RegisterRange b = registers.take(sizes.b);
  const isa::RegisterRange metadata = registers.take(instruction.sparse ? 1 : 0);
  const int steps = machine_instructions(instruction);
  const int selectors = which.selectors_in_turn ? mma::operand_registers(instruction).metadata_selectors : 1;
  for (int chain = 0; chain < ilp; ++chain) {
    for (int step = 0; step < steps; ++step) {
      isa::WarpInstruction& mma = isa::add(code, isa::Opcode::kMma);
      mma.a = a;
      mma.b = b;
      mma.metadata = metadata;
      mma.selector = static_cast<std::uint8_t>(chain % selectors);
      mma.c = mma.d = registers.take(sizes.accumulator / steps);
    }
  }
}

/// wgmma on the same accumulators need no wait between them; independent chains have their own.
/// Those of tcgen05.mma are not in registers.
void add_wgmma(const MatrixInstruction& which, int ilp, Allocator& registers, std::vector<isa::WarpInstruction>& code) {
  const FragmentSizes sizes = fragment_sizes(which.instruction);
  const isa::RegisterRange a = registers.take(which.a_in_registers ? sizes.a : 0);
  for (int chain = 0; chain < ilp; ++chain) {
    isa::WarpInstruction& wgmma = isa::add(code, isa::Opcode::kWgmma);
    wgmma.a = a;
    if (which.instruction.family == mma::MmaFamily::kWgmma) {
      wgmma.d = registers.take(sizes.accumulator);
    }
  }
  isa::add(code, isa::Opcode::kWgmmaCommit);
  isa::add(code, isa::Opcode::kWgmmaWait).pending_groups = 3;
}

void add_loop(const MatrixInstruction& which, int ilp, Allocator& registers, std::vector<isa::WarpInstruction>& code) {
  if (which.instruction.is_asynchronous()) {
    add_wgmma(which, ilp, registers, code);
  } else {
    add_mma(which, ilp, registers, code);
  }
}

int registers_of(const Move& which) {
  const bool has_one = which.kind == Move::Kind::kLoadShared;
  return which.is_copy() ? 0 : has_one ? 1 : which.amount;
}

bool reads_lines(const Move& which) {
  return which.is_copy() || which.kind == Move::Kind::kLoadGlobal;
}

std::int64_t bytes_of(const Move& which) {
  return which.kind == Move::Kind::kBulkCopy ? which.amount
         : which.is_copy()                   ? which.amount * mma::kWarpLanes
                                             : registers_of(which) * isa::kRegisterBytes;
}

void add_loop(const Move& which, int ilp, Allocator& registers, std::vector<isa::WarpInstruction>& code) {
  const isa::Opcode opcode = which.is_copy()      ? isa::Opcode::kCopy
                             : reads_lines(which) ? isa::Opcode::kLoadGlobal
                                                  : isa::Opcode::kLoadMatrix;
  for (int chain = 0; chain < ilp; ++chain) {
    // The next load into the same registers stands for one whose address depends on this one.
    isa::WarpInstruction& move = isa::add(code, opcode);
    move.d = registers.take(registers_of(which));
    move.bulk = which.kind == Move::Kind::kBulkCopy;
    if (reads_lines(which)) {
      move.where.row = chain;
    } else if (which.kind == Move::Kind::kLoadShared) {
      move.conflict_ways = static_cast<std::uint8_t>(which.amount);
    }
  }
  if (which.is_copy()) {
    isa::add(code, isa::Opcode::kCommitCopies);
    isa::add(code, isa::Opcode::kWaitCopies);
  }
}

/// The loop of a microbenchmark: `ilp` instructions on registers of their own, so that each
/// continues the chain of the same place in the iteration before. Throws InputError where the
/// chains need more than `max_registers` registers.
isa::WarpProgram microbench_program(const BenchInstruction& instruction, int ilp, std::int64_t iterations,
                                    int max_registers) {
  isa::WarpProgram program;
  program.iterations = iterations;
  Allocator registers(max_registers);
  std::visit([&](const auto& one) { add_loop(one, ilp, registers, program.loop); }, instruction);
  return program;
}

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
  const mma::MmaInstruction instruction = matrix != nullptr ? machine_instruction(matrix->instruction)
                                                            : mma::gemm_instruction(numerics::DataType::kF16, false);
  return tensor_core::timed_context(spec.sm.tensor_core, spec.numerics, instruction);
}

/// What `instruction`, of which `entry` is that of `target`, runs as there, as the catalogue writes
/// it: where nobody has published that, as on Hopper, of floats on sm_120 as on Ada. That has QMMA
/// for fp8, and so has sm_120: an m16n8k32 takes the cycles of an f16 m16n8k16 (tables of an RTX
/// 5090 and an RTX 5070 Ti). Empty where that does not have it.
std::string runs_as(const mma::Target& target, const mma::CatalogueEntry& entry,
                    const mma::MmaInstruction& instruction) {
  if (!entry.sass.empty()) {
    return entry.sass;
  }
  const bool is_integer = instruction.accumulator == numerics::DataType::kS32;
  const char* const kin = target.name == "sm_120" && !is_integer ? "sm_89" : "sm_90";
  for (const mma::CatalogueEntry& on_kin : mma::instructions(mma::find_target(kin))) {
    if (on_kin.covers(instruction)) {
      return on_kin.sass;
    }
  }
  return "";
}

void require_modelled(const gpu::GpuSpec& spec, const MatrixInstruction& which) {
  const mma::MmaInstruction& instruction = which.instruction;
  const mma::Target& target = mma::find_target(spec.instruction_set);
  const mma::CatalogueEntry entry = mma::find_instruction(target, instruction);
  if (entry.is_software) {
    io::refuse("{} runs as a routine without tensor cores on '{}'", instruction.ptx_name(), spec.name);
  }
  if (const std::string two = runs_as(target, entry, instruction); two.ends_with(" x2")) {
    const bool is_published = !entry.sass.empty();
    io::refuse("{} runs as {} on '{}', whose time is not modelled{}", instruction.ptx_name(), two,
               is_published ? spec.name : "sm_90",
               is_published ? "" : "; that of '" + spec.name + "' is not published");
  }
  if (instruction.accumulator == numerics::DataType::kF64 && spec.sm.tensor_core.f64_multipliers == 0) {
    io::refuse("'{}' has no f64_multipliers: the time of {} is not known", spec.name, instruction.ptx_name());
  }
  if (!spec.sm.has(instruction.family)) {
    io::refuse("'{}' has no {}", spec.name, mma::name(instruction.family));
  }
  if (which.waited_for && spec.sm.tcgen05_latency_cycles == 0) {
    io::refuse("'{}' has no tcgen05_latency_cycles: how long {} alone takes is not known", spec.name,
               instruction.ptx_name());
  }
  if (instruction.sparse) {
    spec.require_selector(instruction.sparse_pattern(), instruction.ptx_name());
  }
}

void require_modelled(const gpu::GpuSpec& spec, const Move& which) {
  const mma::Target& target = mma::find_target(spec.instruction_set);
  const int generation = std::stoi(std::string(target.name.substr(std::string_view("sm_").size())));
  constexpr int kTuring = 75;
  constexpr int kAmpere = 80;
  constexpr int kHopper = 90;
  const int first = which.kind == Move::Kind::kLoadMatrix ? kTuring
                    : which.kind == Move::Kind::kCopy     ? kAmpere
                    : which.kind == Move::Kind::kBulkCopy ? kHopper
                                                          : 0;
  if (generation < first) {
    io::refuse("'{}' has no {}", spec.name, name_of(which));
  }
  if (which.kind == Move::Kind::kLoadGlobal && spec.sm.l1_and_shared_memory == base::Bytes()) {
    io::refuse("'{}' has no L1 for {}", spec.name, name_of(which));
  }
  if (which.kind == Move::Kind::kCopy && which.amount != 16) {
    io::refuse("{} passes the L1, which is not modelled", name_of(which));
  }
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

/// Cycles in which every chain advances by one instruction where software sorts the indices of each
/// before it: nobody simulates that, and a sub-partition sorts for one after the other. Else 0.
double sorting_cycles(const gpu::GpuSpec& spec, const MicrobenchCase& which) {
  const auto* matrix = std::get_if<MatrixInstruction>(&which.instruction);
  if (matrix == nullptr || !mma::may_need_sorting(matrix->instruction)) {
    return 0;
  }
  const std::int64_t warps = base::ceil_div(which.warps, spec.sm.sub_partitions);
  return static_cast<double>(warps * which.ilp * spec.sm.tensor_core.metadata_sorting_cycles);
}

/// Cycles of a tcgen05.mma alone until the warps that wait for it go on: A comes from shared memory
/// before the first column of B is multiplied, and B while the others are.
double completion_cycles(const gpu::GpuSpec& spec, const MatrixInstruction& which) {
  const auto operands = [&](bool a_elsewhere) {
    return sm::warpgroup_operand_bytes(which.instruction, a_elsewhere, which.cta_group).count();
  };
  const std::int64_t a_bytes = operands(which.a_in_registers) - operands(true);
  const std::int64_t pair = which.cta_group > 1 ? spec.sm.tcgen05_pair_latency_cycles : 0;
  return static_cast<double>(spec.sm.tcgen05_latency_cycles + pair +
                             base::ceil_div(a_bytes, spec.sm.shared_memory_bytes_per_cycle().count()) +
                             sm::asynchronous_multiply_cycles(which.instruction, spec.sm, which.cta_group));
}

/// Cycles of all that `which` issues before it waits, of which `simulated` cycles go by while
/// nobody waits: the last one takes as long as one alone.
double waited_cycles(const gpu::GpuSpec& spec, const MicrobenchCase& which, double simulated) {
  const auto* matrix = std::get_if<MatrixInstruction>(&which.instruction);
  if (matrix == nullptr || !matrix->waited_for) {
    return simulated;
  }
  const double issued = static_cast<double>(which.ilp * which.warps) / matrix->instruction.warps();
  return simulated * (issued - 1) / issued + completion_cycles(spec, *matrix);
}

gpu::GpuSpec one_sm(gpu::GpuSpec spec) {
  spec.sms = 1;
  return spec;
}

}  // namespace

void require_modelled(const gpu::GpuSpec& spec, const BenchInstruction& instruction) {
  std::visit([&](const auto& one) { require_modelled(spec, one); }, instruction);
}

Microbench::Microbench(const gpu::GpuSpec& spec)
    : spec_(one_sm(spec)),
      clock_(spec.boost_clock_mhz),
      gpu_("gpu", clock_, spec_),
      memory_(clock_, spec.memory, spec.sms) {
  base::run_events(sc_core::SC_ZERO_TIME);  // elaborates: ports are bound from here on
}

MicrobenchResult Microbench::run(const MicrobenchCase& which) {
  require_possible(which);
  const mma::StepContext context = context_of(spec_, which.instruction);
  const std::int64_t longer = cycles(which, context, kLongRun);
  const std::int64_t shorter = cycles(which, context, kShortRun);
  MicrobenchResult result;
  result.instruction = name_of(which.instruction);
  result.warps = which.warps;
  result.ilp = which.ilp;
  const double simulated = static_cast<double>(longer - shorter) / static_cast<double>(kLongRun - kShortRun);
  result.latency_cycles = std::max(waited_cycles(spec_, which, simulated), sorting_cycles(spec_, which));
  const double per_cycle = static_cast<double>(which.warps * which.ilp) / result.latency_cycles;
  if (const auto* matrix = std::get_if<MatrixInstruction>(&which.instruction)) {
    const mma::MmaInstruction& instruction = matrix->instruction;
    const mma::MmaShape& shape = instruction.shape;
    const double of_warp = (machine_instructions(instruction) > 1 ? 4.0 : 1.0) / instruction.warps();
    result.sparse = instruction.sparse;
    result.selectors_in_turn = matrix->selectors_in_turn;
    result.warning = mma::speed_warning(mma::find_target(spec_.instruction_set), instruction);
    result.fma_per_clk_per_sm = per_cycle * of_warp * shape.m * shape.n * shape.k;
  } else {
    result.bytes_per_clk_per_sm = per_cycle * static_cast<double>(bytes_of(std::get<Move>(which.instruction)));
  }
  return result;
}

void Microbench::require_possible(const MicrobenchCase& which) const {
  const auto* matrix = std::get_if<MatrixInstruction>(&which.instruction);
  require_modelled(spec_, which.instruction);
  const int max_warps = std::min(spec_.sm.max_warps, static_cast<int>(kMaxWarps));
  if (which.warps < 1 || which.warps > max_warps) {
    io::refuse("warps must be from 1 to {} on '{}', not {}", max_warps, spec_.name, which.warps);
  }
  if (matrix != nullptr && which.warps % matrix->instruction.warps() != 0) {
    io::refuse("{} runs on warpgroups: warps must be a multiple of {}, not {}", mma::name(matrix->instruction.family),
               matrix->instruction.warps(), which.warps);
  }
  if (which.ilp < 1) {
    io::refuse("ILP must be at least 1, not {}", which.ilp);
  }
}

std::int64_t Microbench::cycles(const MicrobenchCase& which, const mma::StepContext& context, std::int64_t iterations) {
  const isa::WarpProgram program =
      microbench_program(which.instruction, which.ilp, iterations, spec_.sm.max_registers_per_thread);
  std::optional<CopyTraffic> traffic;
  if (const auto* move = std::get_if<Move>(&which.instruction); move != nullptr && reads_lines(*move)) {
    traffic.emplace(bytes_of(*move), which.ilp);
  }
  const auto* matrix = std::get_if<MatrixInstruction>(&which.instruction);
  const sm::KernelLaunch kernel{.program = &program,
                                .mma_context = &context,
                                .register_map = nullptr,
                                .warps_per_cta = which.warps,
                                .ctas_per_sm = 1,
                                .ctas = 1,
                                .memory = nullptr,
                                .traffic = traffic ? &*traffic : nullptr,
                                .cta_group = matrix != nullptr ? matrix->cta_group : 1};
  return gpu_.run(kernel).cycles;
}

}  // namespace sptc::run::microbench
