// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/base/units.h"
#include "models/energy/cost_factor.h"
#include "models/energy/energy_table.h"
#include "models/numerics/data_type.h"
#include "sim/gpu/clock_policy.h"
#include "sim/gpu/cycle_budget.h"
#include "sim/gpu/stall_shares.h"
#include "sim/hardware/tensor_core/activity.h"
#include "sim/kernels/kernel_result.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/kernels/traffic_counts.h"
#include "sim/run/design_cost.h"
#include "sim/run/memory_use.h"
#include "sim/run/pass_kind.h"
#include "sim/run/what_if.h"
#include "sim/workload/vector_operation.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::run {

struct Violation {
  std::int64_t batch = 0, row = 0, col = 0;
  std::uint32_t got = 0;       ///< result word
  std::uint32_t expected = 0;  ///< `exact`: the plain arithmetic's word; `eigen`: the reference rounded to the type
};

/// Values against the reference.
struct CheckResult {
  std::string mode;           ///< none, sample, eigen, exact
  std::int64_t elements = 0;  ///< compared
  std::int64_t mismatches = 0;
  std::int64_t undecided = 0;  ///< of `elements`: a partial sum may reach 2^128, so the result proves nothing
  double worst_error = 0;      ///< largest |result - reference|
  double bound = 0;            ///< proved bound at the element with the worst error
  double worst_ratio = 0;      ///< largest error / bound over all elements
  std::optional<Violation> first_violation;
};

/// Where the energy of one launch goes, and at what power.
struct EnergyResult {
  std::vector<std::pair<std::string_view, double>> parts_uj;  ///< in the order of energy::kEnergyPartNames
  double total_uj = 0;
  double power_w = 0;                                        ///< average over the launch
  double peak_power_w = 0;                                   ///< while the tensor cores are fed
  double pj_per_flop = 0;                                    ///< effective: skipped zeros count
  bool limited = false;                                      ///< the power limit lowered the clock
  bool limit_exceeded = false;                               ///< even the lowest clock takes more than the limit
  double core_volts = 0;                                     ///< of a launch: supply at its clock
  std::optional<energy::EventCounts> counts = std::nullopt;  ///< of a launch: what was counted
  /// Where total_uj may lie, as far as the constants of the energy file do. The clock stays.
  energy::Bounds bounds_uj = {};
  std::shared_ptr<const energy::CostFactors> factors = nullptr;  ///< null: nobody says
  std::vector<double> by_factor_uj = {};                         ///< total_uj by `factors`
  /// total_uj by rail of the board; empty where its energy file names none.
  std::vector<std::pair<std::string, double>> rails_uj = {};

  double rail_w(std::size_t rail) const { return power_w * rails_uj[rail].second / total_uj; }
};

/// How long one launch (all `batch` GEMMs of it) takes, and what of that is useful.
struct TimingResult {
  std::int64_t cycles = 0;
  double time_us = 0;    ///< cycles and launch
  double launch_us = 0;  ///< beside the cycles: launch, and the second kernel of split-K
  double clock_mhz = 0;
  gpu::ClockScaling clock_scaling;
  double tflops = 0;          ///< effective: skipped zeros count
  double utilization = 0;     ///< useful executed MACs / peak executed MACs of all SMs in `cycles`
  double padding = 0;         ///< share of the issued MACs that fall outside the GEMM
  double executed_share = 1;  ///< useful executed MACs per MAC of the operation: N/M
  gpu::CycleBudget budget;
  kernels::SimulatedCycles simulated;
};

/// What one launch moves.
struct TrafficResult {
  kernels::MemoryTraffic memory;
  std::optional<tensor_core::Activity> activity;  ///< absent where not all of it was simulated
};

/// Why a launch takes its time.
struct ExplanationResult {
  std::optional<gpu::StallShares> stalls;  ///< see GemmRun
  std::optional<WhatIf> what_if;           ///< at the clock of the launch
};

/// One operation, dense or sparse.
struct VariantResult {
  kernels::KernelResult kernel;
  std::optional<kernels::RunnerUp> runner_up;  ///< of a search among kernels, where two fit
  TimingResult timing;
  TrafficResult traffic;
  ExplanationResult explanation;
  std::optional<CheckResult> check;
  std::optional<EnergyResult> energy;  ///< absent where the architecture has no energy file
  double rest_uj = 0;                  ///< of what follows the launch: Operation::rest
  DesignCost design;
};

struct OperationResult {
  std::string name;
  base::GemmShape shape;
  std::int64_t batch = 1;
  std::int64_t count = 1;
  numerics::DataType dtype = numerics::DataType::kF16;
  bool prunable = false;
  std::string pattern;           ///< of the weights of `sparse`: "2:4", "64:2:8"
  double rest_us = 0;            ///< what follows each launch: Operation::rest
  double measured_us = 0;        ///< of one launch in a recording; 0: not measured
  bool measured_sparse = false;  ///< the weight was sparse then
  std::optional<VariantResult> dense;
  std::optional<VariantResult> sparse;
  /// The dense launch of an operation without sparse variant, at the clock of the network whose
  /// other weights are sparse; absent where the clock does not depend on the others.
  std::optional<VariantResult> dense_among_sparse;

  /// What this operation is in the dense or in the sparse network; null where that was not
  /// simulated.
  const VariantResult* in_network(bool sparse_weights) const;
  /// What was measured, simulated; null where nothing was measured, or that was not simulated.
  const VariantResult* as_measured() const;

  /// dense / sparse time, where both were simulated.
  std::optional<double> speedup() const;
  /// dense / sparse energy, where both are known: work per joule, sparse over dense.
  std::optional<double> performance_per_watt_ratio() const;
  /// Where it may lie: both energies have the same constants.
  std::optional<energy::Bounds> per_watt_bounds() const;
};

/// Sums over the network: count-weighted, GEMMs only. Operations that stay dense enter the sparse
/// total with their dense time.
struct VariantTotals {
  double time_us = 0;
  double tflops = 0;
  std::int64_t mismatches = 0;
  /// Sums; the power is averaged over the time, the peak is the highest.
  std::optional<EnergyResult> energy = std::nullopt;
  double rest_us = 0;  ///< between the GEMMs, as the workload declares it: not in the above
  double rest_uj = 0;
};

struct Totals {
  std::optional<VariantTotals> dense;
  std::optional<VariantTotals> sparse;
  std::optional<double> speedup;
  std::optional<double> performance_per_watt_ratio;  ///< sparse / dense
  std::optional<energy::Bounds> per_watt_bounds;     ///< where it may lie
};

/// Where the energy of `dense` over that of `sparse` may lie, with the same constants in both.
/// Nothing where nobody says how far they may be from the truth.
std::optional<energy::Bounds> per_watt_bounds(const EnergyResult& dense, const EnergyResult& sparse);

/// How the layers of a network classify, one after the other.
struct ChainAccuracy {
  double simulated = 0, float64 = 0;  ///< fraction of samples right
  std::int64_t disagreements = 0;     ///< samples classified unlike float64
};

/// Classification by a network whose real values ran through the simulated hardware.
struct AccuracyResult {
  std::int64_t samples = 0;
  std::optional<ChainAccuracy> dense, sparse;
};

/// A launch of a kernel in a variant of the network, at the clock of that.
struct KernelFigures {
  double time_us = 0;
  std::optional<double> energy_uj;
};

/// A kernel of an engine, and which weights it takes in the fastest mix.
struct InferenceKernel {
  std::string name;
  std::vector<std::string> fused;  ///< operations in it beside the one that names it
  workload::WorkGroup group = workload::WorkGroup::kGemm;
  std::int64_t count = 1;
  std::optional<KernelFigures> dense, sparse;  ///< sparse: of 2:4 weights, and of what they change
  bool quantises = false;                      ///< no GEMM, and begins with a quantisation
  /// Weights: what the mix takes, and why.
  bool takes_sparse = false;
  std::string reason;
};

/// A pass of the network: with dense weights, all 2:4, or the mix.
struct InferenceTotals {
  double latency_us = 0;
  double clock_mhz = 0;
  double waiting_us = 0;  ///< of it the GPU waits for the host
  std::optional<double> energy_uj, power_w;
  bool limit_exceeded = false;  ///< even the lowest clock takes more than the power limit
  /// Time of the kernels by WorkGroup.
  std::array<double, workload::kWorkGroups> group_us{};
};

/// What a pass leaves out, and by an estimate its part of the time with dense weights.
struct NotModelled {
  std::string what;
  std::optional<double> share;  ///< nothing: not known
};

/// NotModelled::what of a workload that lists no more.
inline constexpr const char* kBesideGemms = "all operations beside GEMMs: the workload does not list them";

struct InferenceResult {
  std::string engine;
  std::string engine_version;  ///< the release of its software; empty: it has none
  bool gemms_only = false;     ///< EngineSpec::gemms_only: nothing beside the GEMMs is part of it
  bool tells_choices = false;  ///< the text report says which weights take 2:4, and why
  std::int64_t batch = 0;      ///< inputs of a pass: Workload::inputs
  PassKind pass;               ///< what a pass is
  std::vector<InferenceKernel> kernels;
  std::optional<InferenceTotals> dense, sparse, mix;
  std::vector<NotModelled> not_modelled;
};

/// A launch that was measured, and what the closed form makes of it.
struct MeasuredTime {
  double measured_us = 0, simulated_us = 0;
  std::array<std::int64_t, 3> bytes{};  ///< of DRAM, L2 and shared memory, simulated
};

/// A shape that was measured dense and sparse.
struct MeasuredPair {
  base::GemmShape shape;
  numerics::DataType dtype = numerics::DataType::kF16;
  std::string pattern;
  MeasuredTime dense, sparse;
  std::string conditions;  ///< of its launches: L2, library, source, ...

  double gain() const { return dense.measured_us / sparse.measured_us; }
  double simulated_gain() const { return dense.simulated_us / sparse.simulated_us; }
  /// Whether a launch of one GEMM has its type and sparsity, and each of m, n, k within a factor of
  /// two.
  bool is_like(const base::GemmShape& other, numerics::DataType type, std::string_view sparsity) const;

  /// |simulated gain / measured gain - 1|.
  double gain_error() const;
};

/// How far simulated gains are from measured ones on shapes like those of a result.
struct MeasuredGain {
  std::vector<MeasuredPair> pairs;
  std::int64_t layers = 0;       ///< of the result, with both variants
  std::int64_t layers_like = 0;  ///< of them, those with a pair like them

  /// Enough pairs for a mean.
  bool is_known() const;
  /// Mean of MeasuredPair::gain_error(), in percent. There must be a pair.
  double mean_error_percent() const;
};

/// How near measurements are to the board of a result.
struct EvidenceDistance {
  enum class Where {
    kBoard,
    kChip,        ///< on another board of its chip
    kGeneration,  ///< on another chip with its instructions
    kNone,
  };
  Where where = Where::kNone;                          ///< pairs of `type`, dense and sparse, were measured so near
  numerics::DataType type = numerics::DataType::kF16;  ///< of the result the farthest from them
  std::string chip, generation;                        ///< of the board; chip: empty where it is not known
  bool own_design = false;                             ///< nobody has such a board
  std::vector<std::string> boards;                     ///< with such pairs, as near as that
  /// Error of gains on boards that are as far from measurements, in percent; nothing: not known.
  std::optional<double> mean_error_percent = std::nullopt;
};

/// How a library chose the kernels of 2:4 weights: its default or what its search finds.
struct LibraryPath {
  kernels::Algorithm algorithm = kernels::Algorithm::kHeuristic;
  kernels::OperandLayout layout;
  bool default_known = false;        ///< the file of the library has its default kernels
  std::optional<double> other_gain;  ///< of the other algorithm, in closed form
};

struct RunResult {
  std::string workload;
  std::string arch;
  std::string fidelity;
  std::string made_by;                                       ///< see made_by()
  std::vector<std::pair<std::string, std::string>> options;  ///< as given or by default, in order
  std::uint64_t seed = 0;
  std::vector<OperationResult> operations;
  /// A sentence on the launches of a recording that the GPU cannot execute, which are no part of
  /// the operations; empty where there are none.
  std::string left_out;
  /// A sentence on what the memory of the board cannot hold of the network; empty where all fits as
  /// far as that is known.
  std::string does_not_fit;
  /// What the memory of one GPU holds with dense weights, with 2:4 ones, and with those of the
  /// fastest mix, as far as that is known. Reports have it of engines that run more than GEMMs.
  std::optional<MemoryUse> dense_memory, sparse_memory, mix_memory;
  bool reports_memory = true;
  /// Why the software of the engine runs no weight of the network as 2:4, in a sentence; empty
  /// where it runs some.
  std::string no_sparse;
  Totals totals;
  std::optional<InferenceResult> inference;  ///< under an engine that runs more than GEMMs
  /// See assumed_share() (sim/run/simulate.h); absent where nobody asked.
  std::optional<double> assumed_share;
  std::optional<AccuracyResult> accuracy;
  std::optional<LibraryPath> path;            ///< see library_path() (sim/run/estimate.h)
  std::optional<MeasuredGain> measured_gain;  ///< absent where nobody looked for measured shapes
  std::optional<EvidenceDistance> evidence;   ///< absent where nobody looked for it
  std::optional<GpuArea> area;                ///< absent where the architecture has no energy file
  energy::Bounds area_bounds_mm2;             ///< where its total may lie
  bool explained = false;                     ///< the user asks why
  std::vector<std::string> notes;             ///< what a reader of the figures must know, one sentence each
  std::vector<std::string> assumed;           ///< parameters with evidence "assumed" that entered this result

  /// Whether every check that ran passed.
  bool passed() const;

  /// Dense over sparse time: of whole inferences where an engine ran both, else of all GEMMs;
  /// nothing where a variant is missing.
  std::optional<double> gain() const;

  /// Calls `visit` with each operation, each variant of it that was simulated, and whether that is
  /// the sparse one.
  template <typename Visit>
  void for_each_variant(const Visit& visit) const {
    for (const OperationResult& op : operations) {
      for (const auto* const variant : {&op.dense, &op.sparse}) {
        if (*variant) {
          visit(op, **variant, variant == &op.sparse);
        }
      }
    }
  }
};

}  // namespace sptc::run
