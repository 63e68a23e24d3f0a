// SPDX-License-Identifier: Apache-2.0
#include "sim/report/figures.h"

#include "models/energy/event.h"
#include "models/numerics/data_type.h"
#include "sim/hardware/sm/stall_counters.h"
#include "sim/report/explanation.h"
#include "sim/workload/vector_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

namespace sptc::report {
namespace {

using Check = run::CheckResult;
using Energy = run::EnergyResult;
using Op = run::OperationResult;
using V = run::VariantResult;
using Value = std::optional<FigureValue>;

constexpr auto kWhole = [](const auto& result) { return &result; };

template <typename Part>
const Part* if_known(const std::optional<Part>& part) {
  return part ? &*part : nullptr;
}

/// Appends a figure of one group: a member or a function of what `part` of a result points to; absent where that is
/// nothing.
template <typename Result, typename Part>
auto adder(Figures<Result>& figures, std::string group, Part part) {
  return [&figures, group = std::move(group), part](std::string_view key, std::string_view unit,
                                                    std::string_view meaning, auto get) {
    figures.push_back({group, std::string(key), unit, meaning, [part, get](const Result& result) -> Value {
                         const auto* const found = part(result);
                         return found != nullptr ? Value(std::invoke(get, *found)) : std::nullopt;
                       }});
  };
}

/// The list that functions append to.
template <typename Result, typename... Append>
Figures<Result> list_of(Append... append) {
  Figures<Result> figures;
  (append(figures), ...);
  return figures;
}

std::string extents(const base::GemmShape& shape) {
  return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
}

void append_kernel(Figures<V>& figures) {
  using K = kernels::KernelResult;
  const auto add = adder(figures, "kernel", [](const V& v) { return &v.kernel; });
  add("tile", "", "tile of D that a CTA computes, and the depth of a step",
      [](const K& kernel) { return extents(kernel.cta_tile); });
  add("warp_tile", "", "the part of the tile that a warp computes",
      [](const K& kernel) { return extents(kernel.warp_tile); });
  add("instruction", "", "matrix instruction, by its PTX name",
      [](const K& kernel) { return kernel.instruction.ptx_name(); });
  add("stages", "", "tiles of A and B that shared memory holds at once", &K::stages);
  add("split_k", "", "slices of K that CTAs compute apart", &K::split_k);
  add("decomposition", "", "how CTAs share the tiles: data-parallel or stream-k",
      [](const K& kernel) { return std::string(kernel.stream_k ? "stream-k" : "data-parallel"); });
  add("persistent", "", "CTAs stay and take tile after tile", &K::persistent);
  add("cluster_ctas", "", "CTAs of a cluster; 1: no clusters", &K::cluster_ctas);
  add("output_tiles", "", "tiles of D, those of all batches", &K::output_tiles);
  add("ctas", "", "CTAs that are launched", &K::ctas);
  add("ctas_per_sm", "", "CTAs that an SM holds at once", &K::ctas_per_sm);
  add("occupancy_limit", "", "what lets an SM hold no more CTAs",
      [](const K& kernel) { return std::string(kernel.occupancy_limit); });
  add("shared_memory_carve_out_bytes", "bytes", "memory of an SM that is shared memory",
      [](const K& kernel) { return kernel.carve_out.count(); });
  add("waves", "", "rounds of CTAs on all SMs", &K::waves);
}

/// Figures of kernels that were searched; without it, the library chose.
void append_search(Figures<V>& figures) {
  using R = kernels::RunnerUp;
  const auto add = adder(figures, "runner_up", [](const V& v) { return if_known(v.runner_up); });
  add("tile", "", "of the kernel that came second in the search: its tile",
      [](const R& second) { return extents(second.kernel.cta_tile); });
  add("warp_tile", "", "its part that a warp computes",
      [](const R& second) { return extents(second.kernel.warp_tile); });
  add("stages", "", "its stages", [](const R& second) { return std::int64_t{second.kernel.stages}; });
  add("split_k", "", "its slices of K", [](const R& second) { return std::int64_t{second.kernel.split_k}; });
  add("time_us", "us", "its time, at the clock at which the kernels were compared", &R::us);
}

void append_bound(Figures<V>& figures, const char* group) {
  adder(figures, group, [](const V& v) { return if_known(v.explanation.what_if); })(
      "bound_by", "", "the resource that gains most where it is twice as fast; grid: CTAs that fill all SMs evenly",
      [](const run::WhatIf& what_if) { return std::string(run::name_of(what_if.bound_by()).report); });
}

void append_timing(Figures<V>& figures) {
  using T = run::TimingResult;
  const auto add = adder(figures, "", [](const V& v) { return &v.timing; });
  add("cycles", "cycles", "duration of the launch on the SMs", &T::cycles);
  add("time_us", "us", "time of the launch: cycles, and what launching takes", &T::time_us);
  add("launch_us", "us", "time beside the cycles: launch, second kernel of split-K", &T::launch_us);
  add("clock_mhz", "MHz", "clock of the SMs", &T::clock_mhz);
  add("tflops", "TFLOP/s", "effective rate: skipped zeros count", &T::tflops);
  add("utilization", "", "useful executed multiply-adds per peak of these cycles", &T::utilization);
  add("padding", "", "share of the issued multiply-adds that fall outside the GEMM", &T::padding);
  append_bound(figures, "");
}

void append_traffic(Figures<V>& figures) {
  const auto add = adder(figures, "bytes", [](const V& v) { return &v.traffic.memory; });
  using M = kernels::MemoryTraffic;
  add("hbm", "bytes", "read from and written to DRAM", [](const M& memory) { return memory.l2_and_dram.dram(); });
  add("hbm_read", "bytes", "read from DRAM", [](const M& memory) { return memory.l2_and_dram.dram_read; });
  add("hbm_written", "bytes", "written to DRAM", [](const M& memory) { return memory.l2_and_dram.dram_written; });
  add("l2", "bytes", "between the SMs and the L2", [](const M& memory) { return memory.l2_and_dram.l2(); });
  add("l2_hit_ratio", "", "share of the bytes from the L2 that it had",
      [](const M& memory) { return memory.l2_and_dram.l2_hit_ratio(); });
  add("smem", "bytes", "read from and written to shared memory", &M::shared_memory);
}

void append_budget(Figures<V>& figures) {
  using B = gpu::CycleBudget;
  const auto add = adder(figures, "busy_cycles", [](const V& v) { return &v.timing.budget; });
  add("tensor", "cycles", "multipliers of the busiest SM, padding included", &B::tensor);
  add("operand_fetch", "cycles", "ports and selector that hold instructions back", &B::operand_fetch);
  add("smem", "cycles", "shared memory of the busiest SM", &B::shared_memory);
  add("sm_port", "cycles", "port between the busiest SM and the L2", &B::sm_port);
  add("l2", "cycles", "the L2", &B::l2);
  add("hbm", "cycles", "DRAM", &B::dram);
  add("reduction", "cycles", "second kernel of split-K", &B::reduction);
}

void append_simulated(Figures<V>& figures) {
  using S = kernels::SimulatedCycles;
  const auto add = adder(figures, "simulated", [](const V& v) { return &v.timing.simulated; });
  add("extrapolated", "", "main loop or rounds of CTAs were carried on once they repeated", &S::extrapolated);
  add("cycles", "cycles", "cycles that were simulated, without those that were carried on", &S::cycles);
}

void append_activity(Figures<V>& figures) {
  using A = tensor_core::Activity;
  const auto add = adder(figures, "activity", [](const V& v) { return if_known(v.traffic.activity); });
  add("instructions", "", "warp instructions that were issued", &A::instructions);
  add("mma_instructions", "", "of those, matrix instructions", &A::mma_instructions);
  add("executed_macs", "", "multiply-adds, padding included", &A::executed_macs);
  add("selected_operands", "", "elements of B handed to multipliers", &A::selected_operands);
  add("selected_by_metadata", "", "of those, picked by metadata", &A::selected_by_metadata);
  add("operand_a_bytes", "bytes", "A read from the register file", &A::operand_a_bytes);
  add("operand_b_bytes", "bytes", "B read from the register file", &A::operand_b_bytes);
  add("accumulator_bytes", "bytes", "accumulators read and written", &A::accumulator_bytes);
  add("metadata_bytes", "bytes", "metadata read from the register file", &A::metadata_bytes);
  add("shared_memory_bytes", "bytes", "fragments loaded by warps", &A::shared_memory_bytes);
  add("selector_busy_cycles", "cycles", "selectors of all tensor cores", &A::selector_busy_cycles);
  add("multiplier_busy_cycles", "cycles", "multipliers of all tensor cores", &A::multiplier_busy_cycles);
}

/// Parts of an energy: name, meaning.
constexpr std::array<std::pair<std::string_view, std::string_view>, energy::kEventCount + 4> kParts{
    {{"multiply", "multiplying elements of A and B"},
     {"align_add", "aligning products and adding them"},
     {"round", "normalising and rounding sums"},
     {"operand_select", "picking elements of B by metadata"},
     {"operand_latch", "driving operands to the multipliers and holding them"},
     {"metadata_read", "reading metadata from the register file"},
     {"register_read", "reading the register file"},
     {"register_write", "writing the register file"},
     {"shared_memory_read", "reading shared memory, crossbar included"},
     {"shared_memory_write", "writing shared memory, crossbar included"},
     {"l2", "reading and writing the arrays of the L2"},
     {"interconnect", "moving bytes between the SMs and the L2"},
     {"hbm", "moving bytes between the L2 and DRAM"},
     {"instruction_issue", "fetching, decoding and issuing instructions"},
     {"cuda_core_fma", "multiply-adds of the CUDA cores"},
     {"leakage", "leakage of the chip"},
     {"idle_sms", "SMs without work"},
     {"constant", "what the chip takes whatever it does"},
     {"board", "the board around the chip"}}};

/// The energy of a part; absent where it takes none.
Value part_of(const Energy& energy, std::string_view name) {
  for (const auto& [part, uj] : energy.parts_uj) {
    if (part == name && uj != 0) {
      return uj;
    }
  }
  return std::nullopt;
}

/// A bound; absent where nobody says how far the constants may be from the truth.
Value bound(const Energy& energy, double value) {
  return energy.factors ? Value(value) : std::nullopt;
}

template <typename Result>
void append_energy(Figures<Result>& figures) {
  const auto energy_of = [](const Result& result) { return if_known(result.energy); };
  const auto parts = adder(figures, "energy_uj", energy_of);
  for (const auto& [name, meaning] : kParts) {
    parts(name, "uJ", meaning, [name = name](const Energy& energy) { return part_of(energy, name); });
  }
  parts("total", "uJ", "all energy", &Energy::total_uj);
  parts("low", "uJ", "all energy, constants at the low ends of their ranges",
        [](const Energy& e) { return bound(e, e.bounds_uj.low); });
  parts("high", "uJ", "all energy, constants at the high ends of their ranges",
        [](const Energy& e) { return bound(e, e.bounds_uj.high); });
  const auto add = adder(figures, "", energy_of);
  add("power_w", "W", "average power", &Energy::power_w);
  add("peak_power_w", "W", "power while the tensor cores are fed", &Energy::peak_power_w);
  add("power_limited", "", "the power limit lowered the clock", &Energy::limited);
  add("pj_per_flop", "pJ", "energy per effective operation: skipped zeros count", &Energy::pj_per_flop);
  add("gflops_per_w", "GFLOP/s per W", "effective rate per watt", [](const Energy& e) { return 1e3 / e.pj_per_flop; });
  add("gflops_per_w_low", "GFLOP/s per W", "the same, constants at the high ends",
      [](const Energy& e) { return bound(e, 1e3 / e.pj_per_flop * e.total_uj / e.bounds_uj.high); });
  add("gflops_per_w_high", "GFLOP/s per W", "the same, constants at the low ends",
      [](const Energy& e) { return bound(e, 1e3 / e.pj_per_flop * e.total_uj / e.bounds_uj.low); });
}

/// All of a launch but why, and whether its values are right.
void append_launch(Figures<V>& figures) {
  append_kernel(figures);
  append_search(figures);
  append_timing(figures);
  append_traffic(figures);
  append_budget(figures);
  append_simulated(figures);
  append_activity(figures);
  append_energy(figures);
}

void append_events(Figures<V>& figures) {
  using Counts = energy::EventCounts;
  const auto counted = [](const V& v) { return v.energy && v.energy->counts ? &*v.energy : nullptr; };
  adder(figures, "", counted)("core_v", "V", "supply of the core at its clock", &Energy::core_volts);
  for (const energy::EventInfo& row : energy::kEvents) {
    const auto* const meaning =
        std::find_if(kParts.begin(), kParts.end(), [&](const auto& part) { return part.first == row.name; });
    const auto add = adder(figures, "energy_events." + std::string(row.name),
                           [counted, event = row.event](const V& v) -> const Counts* {
                             const Energy* const energy = counted(v);
                             return energy != nullptr && energy->counts->count(event) > 0 ? &*energy->counts : nullptr;
                           });
    add("count", "", meaning->second,
        [event = row.event](const Counts& counts) -> double { return counts.count(event); });
    add("switching", "", "share that switches; 1: as with N(0,1) operands",
        [event = row.event](const Counts& counts) -> double { return counts.switched(event) / counts.count(event); });
  }
}

void append_explanation(Figures<V>& figures) {
  const auto stalls = adder(figures, "explanation.stalls", [](const V& v) { return if_known(v.explanation.stalls); });
  for (std::size_t i = 0; i < sm::kStallReasons; ++i) {
    stalls(sm::kStallNames[i].json, "%", sm::kStallNames[i].words,
           [i](const gpu::StallShares& shares) { return 100 * shares.of[i]; });
  }
  const auto gains = adder(figures, "explanation.what_if", [](const V& v) { return if_known(v.explanation.what_if); });
  for (std::size_t i = 0; i < run::kResources; ++i) {
    gains(run::kResourceNames[i].report, "", run::kResourceNames[i].change,
          [i](const run::WhatIf& what_if) { return what_if.speedup[i]; });
  }
  append_bound(figures, "explanation");
}

void append_check(Figures<V>& figures) {
  const auto add = adder(figures, "check", [](const V& v) { return if_known(v.check); });
  add("mode", "", "what the values were compared with: sample, eigen, exact", &Check::mode);
  add("elements", "", "elements that were compared", &Check::elements);
  add("worst_error", "", "largest distance from the reference", &Check::worst_error);
  add("bound", "", "proved bound of the error at that element", &Check::bound);
  add("worst_ratio", "", "largest error per bound", &Check::worst_ratio);
  add("mismatches", "", "elements that are wrong", &Check::mismatches);
  add("undecided", "", "elements whose partial sums may overflow, which prove nothing", &Check::undecided);
}

void append_violation(Figures<V>& figures) {
  using F = run::Violation;
  const auto add = adder(figures, "check.first_violation",
                         [](const V& v) { return v.check ? if_known(v.check->first_violation) : nullptr; });
  add("batch", "", "batch of the first wrong element", &F::batch);
  add("row", "", "row of the first wrong element", &F::row);
  add("col", "", "column of the first wrong element", &F::col);
  add("got", "", "word of the first wrong element", [](const F& found) { return fmt::format("0x{:08x}", found.got); });
  add("expected", "", "word that belongs there, of a reference that rounds once: about",
      [](const F& found) { return fmt::format("0x{:08x}", found.expected); });
}

void append_operation(Figures<Op>& figures) {
  const auto add = adder(figures, "", kWhole);
  add("name", "", "of the operation", &Op::name);
  add("m", "", "rows of A and D", [](const Op& op) { return op.shape.m; });
  add("n", "", "columns of B and D", [](const Op& op) { return op.shape.n; });
  add("k", "", "columns of A, rows of B", [](const Op& op) { return op.shape.k; });
  add("batch", "", "independent GEMMs of a launch", &Op::batch);
  add("count", "", "launches", &Op::count);
  add("dtype", "", "type of A and B", [](const Op& op) { return std::string(numerics::name(op.dtype)); });
  add("prunable", "", "A is a weight and may be pruned", &Op::prunable);
}

void append_measured(Figures<Op>& figures) {
  adder(figures, "", [](const Op& op) { return op.measured_us > 0 ? &op : nullptr; })(
      "measured_us", "us", "time of a launch in the recording", &Op::measured_us);
}

/// Figures of an operation or of all: sparse beside dense.
template <typename Result>
void append_comparison(Figures<Result>& figures) {
  const auto add = adder(figures, "", kWhole);
  add("speedup", "", "dense time per sparse time", &Result::speedup);
  add("performance_per_watt_ratio", "", "dense energy per sparse energy", &Result::performance_per_watt_ratio);
  const auto end = [&](const char* key, const char* meaning, double energy::Bounds::*which) {
    add(key, "", meaning, [which](const Result& result) {
      const std::optional<energy::Bounds> bounds = std::invoke(&Result::per_watt_bounds, result);
      return bounds ? Value((*bounds).*which) : std::nullopt;
    });
  };
  end("performance_per_watt_ratio_low",
      "the least that the ranges of the energy file's constants allow, which both share", &energy::Bounds::low);
  end("performance_per_watt_ratio_high",
      "the most that the ranges of the energy file's constants allow, which both share", &energy::Bounds::high);
}

void append_sentences(Figures<Op>& figures) {
  const auto add = adder(figures, "", kWhole);
  add("explanation", "", "why the launches take their time", explanation_sentence);
  add("energy_explanation", "", "what sparse weights save and cost", [](const Op& op) {
    const bool known = op.dense && op.dense->energy && op.sparse && op.sparse->energy;
    return known ? Value(energy_sentence(op.pattern, *op.dense->energy, *op.sparse->energy)) : std::nullopt;
  });
}

void append_total(Figures<run::VariantTotals>& figures) {
  using T = run::VariantTotals;
  const auto add = adder(figures, "", kWhole);
  add("time_us", "us", "of all launches", &T::time_us);
  add("tflops", "TFLOP/s", "effective rate: skipped zeros count", &T::tflops);
  add("mismatches", "", "elements that are wrong", &T::mismatches);
  append_energy(figures);
  const auto rest = adder(figures, "rest", [](const T& total) { return total.rest_us > 0 ? &total : nullptr; });
  rest("time_us", "us", "between the GEMMs, as the workload declares it", &T::rest_us);
  rest("energy_uj", "uJ", "between the GEMMs, as the workload declares it",
       [](const T& total) { return total.energy ? Value(total.rest_uj) : std::nullopt; });
}

/// Figures of passes that read or write text, as rows_of() of inference_report.cpp has them.
template <typename Add>
void append_tokens(const Add& add) {
  using Stage = run::PassKind::Stage;
  add("tokens_per_second", "", "of all users together", [](const Pass& pass) {
    return pass.kind.stage == Stage::kOther ? std::nullopt : Value(1e6 * pass.kind.units() / pass.totals->latency_us);
  });
  add("tokens_per_second_per_user", "", "of a decoding step", [](const Pass& pass) {
    return pass.kind.stage == Stage::kDecode ? Value(1e6 / pass.totals->latency_us) : std::nullopt;
  });
  add("time_to_first_token_us", "us", "of a prefill", [](const Pass& pass) {
    return pass.kind.stage == Stage::kPrefill ? Value(pass.totals->latency_us) : std::nullopt;
  });
  add("joules_per_token", "J", "of all GPUs", [](const Pass& pass) {
    const auto& uj = pass.totals->energy_uj;
    return uj && pass.kind.stage != Stage::kOther ? Value(*uj * 1e-6 * pass.kind.gpus / pass.kind.units())
                                                  : std::nullopt;
  });
}

void append_pass(Figures<Pass>& figures) {
  using T = run::InferenceTotals;
  const auto positive = [](double value) { return value > 0 ? Value(value) : std::nullopt; };
  const auto totals = [](const Pass& pass) { return pass.totals; };
  const auto add = adder(figures, "", totals);
  add("clock_mhz", "MHz", "clock of the SMs", &T::clock_mhz);
  const auto rate = adder(figures, "", kWhole);
  rate("inputs_per_second", "", "passes one after the other", [positive](const Pass& pass) {
    return positive(1e6 * static_cast<double>(pass.inputs) / pass.totals->latency_us);
  });
  rate("passes_per_second", "", "where the inputs of a pass are not known",
       [](const Pass& pass) { return pass.inputs > 0 ? std::nullopt : Value(1e6 / pass.totals->latency_us); });
  append_tokens(rate);
  add("energy_uj", "uJ", "all energy", &T::energy_uj);
  add("power_w", "W", "average power", &T::power_w);
  add("waiting_us", "us", "the GPU waits for the host",
      [positive](const T& pass) { return positive(pass.waiting_us); });
  const auto parts = adder(figures, "time_us", totals);
  for (std::size_t i = 0; i < workload::kWorkGroups; ++i) {
    parts(workload::name(static_cast<workload::WorkGroup>(i)), "us", "of the kernels of this group",
          [positive, i](const T& pass) { return positive(pass.group_us[i]); });
  }
}

}  // namespace

const Figures<Op>& asked_figures() {
  static const Figures<Op> kAll = list_of<Op>(append_operation);
  return kAll;
}

const Figures<Op>& operation_figures(bool explained) {
  static const Figures<Op> kPlain = list_of<Op>(append_operation, append_measured, append_comparison<Op>);
  static const Figures<Op> kExplained =
      list_of<Op>(append_operation, append_measured, append_comparison<Op>, append_sentences);
  return explained ? kExplained : kPlain;
}

const Figures<run::VariantTotals>& total_figures() {
  static const Figures<run::VariantTotals> kAll = list_of<run::VariantTotals>(append_total);
  return kAll;
}

const Figures<run::Totals>& total_comparison_figures() {
  static const Figures<run::Totals> kAll = list_of<run::Totals>(append_comparison<run::Totals>);
  return kAll;
}

const Figures<Pass>& pass_figures() {
  static const Figures<Pass> kAll = list_of<Pass>(append_pass);
  return kAll;
}

const Figures<V>& variant_figures(bool explained) {
  static const Figures<V> kPlain = list_of<V>(append_launch, append_check, append_violation);
  static const Figures<V> kExplained =
      list_of<V>(append_launch, append_explanation, append_events, append_check, append_violation);
  return explained ? kExplained : kPlain;
}

Figures<Energy> rail_figures(const Energy& energy) {
  Figures<Energy> figures;
  for (std::size_t i = 0; i < energy.rails_uj.size(); ++i) {
    const auto add = adder(figures, "rails." + energy.rails_uj[i].first, kWhole);
    add("energy_uj", "uJ", "energy through this rail", [i](const Energy& whole) { return whole.rails_uj[i].second; });
    add("power_w", "W", "average power through this rail", [i](const Energy& whole) { return whole.rail_w(i); });
  }
  return figures;
}

std::string figure_text(const FigureValue& value, std::optional<int> digits) {
  if (const auto* const number = std::get_if<double>(&value); number != nullptr && digits) {
    return fmt::format("{:.{}g}", *number, *digits);
  }
  return std::visit([](const auto& figure) { return fmt::format("{}", figure); }, value);
}

}  // namespace sptc::report
