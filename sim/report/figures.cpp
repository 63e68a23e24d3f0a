// SPDX-License-Identifier: Apache-2.0
#include "sim/report/figures.h"

#include "models/numerics/data_type.h"
#include "sim/report/energy_explanation.h"
#include "sim/report/explanation.h"
#include "sim/report/figure_lists.h"
#include "sim/sm/stall_counters.h"

#include <fmt/format.h>

namespace sptc::report {
namespace {

using run::OperationResult;
using run::VariantResult;
using Value = std::optional<FigureValue>;

std::string extents(const base::GemmShape& shape) {
  return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
}

/// Appends figures of one group.
template <typename Result>
class Adder {
 public:
  Adder(Figures<Result>& figures, std::string group)
      : figures_(figures), group_(std::move(group)) {}

  template <typename Get>
  void operator()(std::string_view key, std::string_view unit, std::string_view meaning,
                  Get get) const {
    figures_.push_back({group_, std::string(key), unit, meaning, get});
  }

 private:
  Figures<Result>& figures_;
  std::string group_;
};

/// Both ends of performance_per_watt_ratio, which `get` returns.
template <typename Add, typename Get>
void add_bounds(const Add& add, Get get) {
  add("performance_per_watt_ratio_low", "",
      "the least that the ranges of the energy file's constants allow, which both share",
      [get](const auto& result) -> Value {
        const auto bounds = get(result);
        return bounds ? Value(bounds->low) : std::nullopt;
      });
  add("performance_per_watt_ratio_high", "",
      "the most that the ranges of the energy file's constants allow, which both share",
      [get](const auto& result) -> Value {
        const auto bounds = get(result);
        return bounds ? Value(bounds->high) : std::nullopt;
      });
}

void append_kernel(Figures<VariantResult>& figures) {
  const Adder add(figures, "kernel");
  using V = VariantResult;
  add("tile", "", "tile of D that a CTA computes, and the depth of a step",
      [](const V& v) -> Value { return extents(v.kernel.cta_tile); });
  add("warp_tile", "", "the part of the tile that a warp computes",
      [](const V& v) -> Value { return extents(v.kernel.warp_tile); });
  add("instruction", "", "matrix instruction, by its PTX name",
      [](const V& v) -> Value { return v.kernel.instruction.ptx_name(); });
  add("stages", "", "tiles of A and B that shared memory holds at once",
      [](const V& v) -> Value { return std::int64_t{v.kernel.stages}; });
  add("split_k", "", "slices of K that CTAs compute apart",
      [](const V& v) -> Value { return std::int64_t{v.kernel.split_k}; });
  add("decomposition", "", "how CTAs share the tiles: data-parallel or stream-k",
      [](const V& v) -> Value {
        return std::string(v.kernel.stream_k ? "stream-k" : "data-parallel");
      });
  add("persistent", "", "CTAs stay and take tile after tile",
      [](const V& v) -> Value { return v.kernel.persistent; });
  add("cluster_ctas", "", "CTAs of a cluster; 1: no clusters",
      [](const V& v) -> Value { return std::int64_t{v.kernel.cluster_ctas}; });
  add("output_tiles", "", "tiles of D, those of all batches",
      [](const V& v) -> Value { return v.kernel.output_tiles; });
  add("ctas", "", "CTAs that are launched", [](const V& v) -> Value { return v.kernel.ctas; });
  add("ctas_per_sm", "", "CTAs that an SM holds at once",
      [](const V& v) -> Value { return v.kernel.ctas_per_sm; });
  add("occupancy_limit", "", "what lets an SM hold no more CTAs",
      [](const V& v) -> Value { return std::string(v.kernel.occupancy_limit); });
  add("shared_memory_carve_out_bytes", "bytes", "memory of an SM that is shared memory",
      [](const V& v) -> Value { return v.kernel.carve_out.count(); });
  add("waves", "", "rounds of CTAs on all SMs", [](const V& v) -> Value { return v.kernel.waves; });
}

/// Of kernels that were searched; without it, the library chose.
void append_search(Figures<VariantResult>& figures) {
  const Adder add(figures, "runner_up");
  const auto told = [](auto get) {
    return [get](const VariantResult& v) -> Value {
      return v.runner_up ? Value(get(*v.runner_up)) : std::nullopt;
    };
  };
  using R = kernels::RunnerUp;
  add("tile", "", "of the kernel that came second in the search: its tile",
      told([](const R& second) { return extents(second.kernel.cta_tile); }));
  add("warp_tile", "", "its part that a warp computes",
      told([](const R& second) { return extents(second.kernel.warp_tile); }));
  add("stages", "", "its stages",
      told([](const R& second) { return std::int64_t{second.kernel.stages}; }));
  add("split_k", "", "its slices of K",
      told([](const R& second) { return std::int64_t{second.kernel.split_k}; }));
  add("time_us", "us", "its time, at the clock at which the kernels were compared",
      told([](const R& second) { return second.us; }));
}

void append_timing(Figures<VariantResult>& figures) {
  const Adder add(figures, "");
  using V = VariantResult;
  add("cycles", "cycles", "duration of the launch on the SMs",
      [](const V& v) -> Value { return v.timing.cycles; });
  add("time_us", "us", "time of the launch: cycles, and what launching takes",
      [](const V& v) -> Value { return v.timing.time_us; });
  add("launch_us", "us", "time beside the cycles: launch, second kernel of split-K",
      [](const V& v) -> Value { return v.timing.launch_us; });
  add("clock_mhz", "MHz", "clock of the SMs",
      [](const V& v) -> Value { return v.timing.clock_mhz; });
  add("tflops", "TFLOP/s", "effective rate: skipped zeros count",
      [](const V& v) -> Value { return v.timing.tflops; });
  add("utilization", "", "useful executed multiply-adds per peak of these cycles",
      [](const V& v) -> Value { return v.timing.utilization; });
  add("padding", "", "share of the issued multiply-adds that fall outside the GEMM",
      [](const V& v) -> Value { return v.timing.padding; });
  add("bound_by", "",
      "the resource that gains most where it is twice as fast; grid: CTAs that fill all SMs "
      "evenly",
      [](const V& v) -> Value {
        const auto& what_if = v.explanation.what_if;
        return what_if ? Value(std::string(run::name_of(what_if->bound_by()).report))
                       : std::nullopt;
      });
}

void append_traffic(Figures<VariantResult>& figures) {
  const Adder add(figures, "bytes");
  using V = VariantResult;
  add("hbm", "bytes", "read from and written to DRAM",
      [](const V& v) -> Value { return v.traffic.memory.l2_and_dram.dram(); });
  add("hbm_read", "bytes", "read from DRAM",
      [](const V& v) -> Value { return v.traffic.memory.l2_and_dram.dram_read; });
  add("hbm_written", "bytes", "written to DRAM",
      [](const V& v) -> Value { return v.traffic.memory.l2_and_dram.dram_written; });
  add("l2", "bytes", "between the SMs and the L2",
      [](const V& v) -> Value { return v.traffic.memory.l2_and_dram.l2(); });
  add("l2_hit_ratio", "", "share of the bytes from the L2 that it had",
      [](const V& v) -> Value { return v.traffic.memory.l2_and_dram.l2_hit_ratio(); });
  add("smem", "bytes", "read from and written to shared memory",
      [](const V& v) -> Value { return v.traffic.memory.shared_memory(); });
}

void append_budget(Figures<VariantResult>& figures) {
  const Adder add(figures, "busy_cycles");
  const auto busy = [&](std::string_view key, std::string_view meaning,
                        double gpu::CycleBudget::*cycles) {
    add(key, "cycles", meaning,
        [cycles](const VariantResult& v) -> Value { return v.timing.budget.*cycles; });
  };
  busy("tensor", "multipliers of the busiest SM, padding included", &gpu::CycleBudget::tensor);
  busy("operand_fetch", "ports and selector that hold instructions back",
       &gpu::CycleBudget::operand_fetch);
  busy("smem", "shared memory of the busiest SM", &gpu::CycleBudget::shared_memory);
  busy("sm_port", "port between the busiest SM and the L2", &gpu::CycleBudget::sm_port);
  busy("l2", "the L2", &gpu::CycleBudget::l2);
  busy("hbm", "DRAM", &gpu::CycleBudget::dram);
  busy("reduction", "second kernel of split-K", &gpu::CycleBudget::reduction);
}

void append_simulated(Figures<VariantResult>& figures) {
  const Adder add(figures, "simulated");
  using V = VariantResult;
  add("extrapolated", "", "main loop or rounds of CTAs were carried on once they repeated",
      [](const V& v) -> Value { return v.timing.simulated.extrapolated; });
  add("cycles", "cycles", "cycles that were simulated, without those that were carried on",
      [](const V& v) -> Value { return v.timing.simulated.cycles; });
}

void append_activity(Figures<VariantResult>& figures) {
  const Adder add(figures, "activity");
  const auto count = [&](std::string_view key, std::string_view unit, std::string_view meaning,
                         auto sm::Activity::*member) {
    add(key, unit, meaning, [member](const VariantResult& v) -> Value {
      return v.traffic.activity ? Value((*v.traffic.activity).*member) : std::nullopt;
    });
  };
  using A = sm::Activity;
  count("instructions", "", "warp instructions that were issued", &A::instructions);
  count("mma_instructions", "", "of those, matrix instructions", &A::mma_instructions);
  count("executed_macs", "", "multiply-adds, padding included", &A::executed_macs);
  count("selected_operands", "", "elements of B handed to multipliers", &A::selected_operands);
  count("selected_by_metadata", "", "of those, picked by metadata", &A::selected_by_metadata);
  count("operand_a_bytes", "bytes", "A read from the register file", &A::operand_a_bytes);
  count("operand_b_bytes", "bytes", "B read from the register file", &A::operand_b_bytes);
  count("accumulator_bytes", "bytes", "accumulators read and written", &A::accumulator_bytes);
  count("metadata_bytes", "bytes", "metadata read from the register file", &A::metadata_bytes);
  count("shared_memory_bytes", "bytes", "fragments loaded by warps", &A::shared_memory_bytes);
  count("selector_busy_cycles", "cycles", "selectors of all tensor cores",
        &A::selector_busy_cycles);
  count("multiplier_busy_cycles", "cycles", "multipliers of all tensor cores",
        &A::multiplier_busy_cycles);
}

void append_explanation(Figures<VariantResult>& figures) {
  const Adder stalls(figures, "explanation.stalls");
  for (std::size_t i = 0; i < sm::kStallReasons; ++i) {
    stalls(sm::kStallNames[i].json, "%", sm::kStallNames[i].words,
           [i](const VariantResult& v) -> Value {
             const auto& shares = v.explanation.stalls;
             return shares ? Value(100 * shares->of[i]) : std::nullopt;
           });
  }
  const Adder gains(figures, "explanation.what_if");
  for (std::size_t i = 0; i < run::kResources; ++i) {
    gains(run::kResourceNames[i].report, "", run::kResourceNames[i].change,
          [i](const VariantResult& v) -> Value {
            const auto& what_if = v.explanation.what_if;
            return what_if ? Value(what_if->speedup[i]) : std::nullopt;
          });
  }
  Adder(figures, "explanation")(
      "bound_by", "",
      "the resource that gains most where it is twice as fast; grid: CTAs that fill all SMs evenly",
      [](const VariantResult& v) -> Value {
        const auto& what_if = v.explanation.what_if;
        return what_if ? Value(std::string(run::name_of(what_if->bound_by()).report))
                       : std::nullopt;
      });
}

void append_violation(Figures<VariantResult>& figures) {
  const auto add = [&](const char* key, std::string_view meaning, auto get) {
    Adder(figures, "check.first_violation")(key, "", meaning, [get](const VariantResult& v) {
      return v.check && v.check->first_violation ? Value(get(*v.check->first_violation))
                                                 : std::nullopt;
    });
  };
  const auto word = [](std::uint32_t bits) { return fmt::format("0x{:08x}", bits); };
  add("batch", "batch of the first wrong element", [](const auto& found) { return found.batch; });
  add("row", "row of the first wrong element", [](const auto& found) { return found.row; });
  add("col", "column of the first wrong element", [](const auto& found) { return found.col; });
  add("got", "word of the first wrong element",
      [word](const auto& found) { return word(found.got); });
  add("expected", "word that belongs there, of a reference that rounds once: about",
      [word](const auto& found) { return word(found.expected); });
}

}  // namespace

const Figures<VariantResult>& launch_figures() {
  static const Figures<VariantResult> kAll = [] {
    Figures<VariantResult> figures;
    append_kernel(figures);
    append_search(figures);
    append_timing(figures);
    append_traffic(figures);
    append_budget(figures);
    append_simulated(figures);
    append_activity(figures);
    append_energy_figures(figures);
    return figures;
  }();
  return kAll;
}

const Figures<VariantResult>& explanation_figures() {
  static const Figures<VariantResult> kAll = [] {
    Figures<VariantResult> figures;
    append_explanation(figures);
    append_event_figures(figures);
    return figures;
  }();
  return kAll;
}

const Figures<VariantResult>& check_figures() {
  static const Figures<VariantResult> kAll = [] {
    Figures<VariantResult> figures;
    const auto add = [&](const char* key, std::string_view meaning,
                         auto run::CheckResult::*member) {
      Adder(figures, "check")(key, "", meaning, [member](const VariantResult& v) -> Value {
        return v.check ? Value((*v.check).*member) : std::nullopt;
      });
    };
    using Check = run::CheckResult;
    add("mode", "what the values were compared with: sample, eigen, exact", &Check::mode);
    add("elements", "elements that were compared", &Check::elements);
    add("worst_error", "largest distance from the reference", &Check::worst_error);
    add("bound", "proved bound of the error at that element", &Check::bound);
    add("worst_ratio", "largest error per bound", &Check::worst_ratio);
    add("mismatches", "elements that are wrong", &Check::mismatches);
    add("undecided", "elements whose partial sums may overflow, which prove nothing",
        &Check::undecided);
    append_violation(figures);
    return figures;
  }();
  return kAll;
}

const Figures<OperationResult>& operation_figures() {
  using Op = OperationResult;
  static const Figures<Op> kAll = [] {
    Figures<Op> figures;
    const Adder add(figures, "");
    add("name", "", "of the operation", [](const Op& op) -> Value { return op.name; });
    add("m", "", "rows of A and D", [](const Op& op) -> Value { return op.shape.m; });
    add("n", "", "columns of B and D", [](const Op& op) -> Value { return op.shape.n; });
    add("k", "", "columns of A, rows of B", [](const Op& op) -> Value { return op.shape.k; });
    add("batch", "", "independent GEMMs of a launch",
        [](const Op& op) -> Value { return op.batch; });
    add("count", "", "launches", [](const Op& op) -> Value { return op.count; });
    add("dtype", "", "type of A and B",
        [](const Op& op) -> Value { return std::string(numerics::name(op.dtype)); });
    add("prunable", "", "A is a weight and may be pruned",
        [](const Op& op) -> Value { return op.prunable; });
    return figures;
  }();
  return kAll;
}

const Figures<OperationResult>& comparison_figures() {
  using Op = OperationResult;
  static const Figures<Op> kAll = [] {
    Figures<Op> figures;
    const Adder add(figures, "");
    add("measured_us", "us", "time of a launch in the recording",
        [](const Op& op) { return op.measured_us > 0 ? Value(op.measured_us) : std::nullopt; });
    add("speedup", "", "dense time per sparse time",
        [](const Op& op) -> Value { return op.speedup(); });
    add("performance_per_watt_ratio", "", "dense energy per sparse energy",
        [](const Op& op) -> Value { return op.performance_per_watt_ratio(); });
    add_bounds(add, [](const Op& op) { return op.per_watt_bounds(); });
    return figures;
  }();
  return kAll;
}

const Figures<OperationResult>& sentence_figures() {
  using Op = OperationResult;
  static const Figures<Op> kAll = [] {
    Figures<Op> figures;
    const Adder add(figures, "");
    add("explanation", "", "why the launches take their time",
        [](const Op& op) -> Value { return explanation_sentence(op); });
    add("energy_explanation", "", "what sparse weights save and cost", [](const Op& op) {
      const bool known = op.dense && op.dense->energy && op.sparse && op.sparse->energy;
      return known ? Value(energy_sentence(op.pattern, *op.dense->energy, *op.sparse->energy))
                   : std::nullopt;
    });
    return figures;
  }();
  return kAll;
}

const Figures<run::VariantTotals>& total_figures() {
  using Total = run::VariantTotals;
  static const Figures<Total> kAll = [] {
    Figures<Total> figures;
    const Adder add(figures, "");
    add("time_us", "us", "of all launches", [](const Total& t) -> Value { return t.time_us; });
    add("tflops", "TFLOP/s", "effective rate: skipped zeros count",
        [](const Total& t) -> Value { return t.tflops; });
    add("mismatches", "", "elements that are wrong",
        [](const Total& t) -> Value { return t.mismatches; });
    append_energy_figures(figures);
    const Adder rest(figures, "rest");
    rest("time_us", "us", "between the GEMMs, as the workload declares it",
         [](const Total& t) { return t.rest_us > 0 ? Value(t.rest_us) : std::nullopt; });
    rest("energy_uj", "uJ", "between the GEMMs, as the workload declares it", [](const Total& t) {
      return t.rest_us > 0 && t.energy ? Value(t.rest_uj) : std::nullopt;
    });
    return figures;
  }();
  return kAll;
}

const Figures<run::Totals>& total_comparison_figures() {
  using Totals = run::Totals;
  static const Figures<Totals> kAll = [] {
    Figures<Totals> figures;
    const Adder add(figures, "");
    add("speedup", "", "dense time per sparse time",
        [](const Totals& t) -> Value { return t.speedup; });
    add("performance_per_watt_ratio", "", "dense energy per sparse energy",
        [](const Totals& t) -> Value { return t.performance_per_watt_ratio; });
    add_bounds(add, [](const Totals& t) { return t.per_watt_bounds; });
    return figures;
  }();
  return kAll;
}

std::vector<const Figures<VariantResult>*> variant_figures(bool explained) {
  if (explained) {
    return {&launch_figures(), &explanation_figures(), &check_figures()};
  }
  return {&launch_figures(), &check_figures()};
}

std::string figure_text(const FigureValue& value, std::optional<int> digits) {
  if (const auto* const number = std::get_if<double>(&value); number != nullptr && digits) {
    return fmt::format("{:.{}g}", *number, *digits);
  }
  return std::visit([](const auto& figure) { return fmt::format("{}", figure); }, value);
}

}  // namespace sptc::report
