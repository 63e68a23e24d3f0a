// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/config/config_fwd.h"
#include "sim/run/memory_use.h"
#include "sim/run/pass_kind.h"
#include "sim/run/simulation_options.h"
#include "sim/run/what_if.h"
#include "sim/workload/dim_lists.h"
#include "sim/workload/workload.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::compare {

/// Figures of a launch or of a network. What is not known is 0 or, of the bound, -1.
struct ComparedVariant {
  double us = 0, uj = 0, watts = 0;
  std::int64_t bound = -1;  ///< place in kResourceNames
};

/// Dense beside sparse.
struct ComparedFigures {
  ComparedVariant dense, sparse;
  double per_watt_low = 0, per_watt_high = 0;  ///< where per_watt() may lie
  /// Shapes like a launch that were measured on the board, and geometric means of their measured gains and of the
  /// simulated gains of the same shapes.
  std::int64_t measured_shapes = 0;
  double measured_gain = 0, simulated_gain = 0;

  std::optional<double> gain() const;
  std::optional<double> per_watt() const;  ///< work per joule, sparse over dense
};

/// Figures of an operation, or of the totals, of a result as report::json_report() writes it.
ComparedFigures figures_of(const nlohmann::json& entry);
/// Figures of a pass under an engine among the totals; nothing where none ran.
std::optional<ComparedFigures> figures_of_pass(const nlohmann::json& totals);

/// The name of a bound that `name` says how to call: "" where it is not known.
inline std::string_view bound_name(std::int64_t bound, std::string_view run::ResourceName::*name) {
  return bound < 0 ? std::string_view() : run::kResourceNames[static_cast<std::size_t>(bound)].*name;
}

/// A part of a pass: the words of reports, the key of JSON, the column of text.
struct PassPart {
  std::string_view words, key, column;
};
/// What a pass is made of. Softmax belongs to attention; "rest" is what lies between.
inline constexpr std::array<PassPart, 6> kPassParts{{{"GEMMs", "gemm", "GEMM"},
                                                     {"attention", "attention", "attn"},
                                                     {"communication", "communication", "comm"},
                                                     {"quantisation", "quantisation", "quant"},
                                                     {"waiting for the host", "host", "host"},
                                                     {"rest", "rest", "rest"}}};

/// A pass with dense or with 2:4 weights, of a type over some GPUs. Figures are of one GPU.
struct Candidate {
  bool sparse = false;
  /// Weights of all layers that may be 2:4, and those that are: others of a mix are faster dense.
  std::int64_t prunable_weights = 0, sparse_weights = 0;
  std::string impossible;  ///< why nothing is known; else ""
  double us = 0;
  double uj = 0, watts = 0;                         ///< 0: not known
  std::array<double, kPassParts.size()> part_us{};  ///< their sum is `us`
  std::optional<run::MemoryUse> memory;             ///< nothing: not known

  bool is_possible() const { return impossible.empty() && us > 0; }
  bool fits() const { return !memory || memory->fits(); }
  /// "dense", "2:4", or of a mix "2:4 3/4", of more than 12 characters "2:4 in 75 %".
  std::string weights() const;
};

/// One workload on one board.
struct ComparedPoint {
  std::string board;
  std::string dims;                              ///< "batch=8", name of a saved result, or "" where nothing varies
  std::string file;                              ///< of a saved result; else ""
  std::string failure;                           ///< why nothing is known; else ""
  std::string no_sparse;                         ///< why no sparse figures are known; else ""
  std::string no_energy;                         ///< why no energy is known; else ""
  std::string does_not_fit;                      ///< run::RunResult::does_not_fit
  std::string evidence;                          ///< report::evidence_sentence() of the board; "": nobody looked
  std::vector<std::string> measured_conditions;  ///< of shapes like its layers, by kind
  ComparedFigures total;                         ///< of BoardComparison::scope
  std::vector<ComparedFigures> operations;       ///< as in BoardComparison::operations

  // A comparison of types:
  std::string type;  ///< as it was asked for
  run::PassKind pass;
  /// Mean error of gains as far from measurements as this point, in percent; nothing: not known.
  std::optional<double> error_percent;
  std::vector<Candidate> candidates;  ///< dense, then 2:4, as far as these are asked for
};

/// The same network on several boards and with several extents.
struct BoardComparison {
  std::string workload;
  /// What ComparedPoint::total is of: "GEMMs only", or "one inference under engine 'trt'".
  std::string scope = "GEMMs only";
  std::string made_by;                  ///< see run::made_by()
  std::vector<std::string> operations;  ///< GEMMs that run, by the names of the first workload
  std::vector<ComparedPoint> points;    ///< dimensions first, boards fastest; of types see there
  std::vector<std::string> types;       ///< those that are compared; empty: those of the workload

  bool is_of_types() const { return !types.empty(); }
  bool is_end_to_end() const { return !scope.starts_with("GEMMs only"); }

  /// Whether it is of two saved results, whose times can be set against each other.
  bool is_of_two_results() const {
    return points.size() == 2 && !points.front().file.empty() && !points.back().file.empty();
  }
};

/// A workload of a comparison, and what makes it differ from the others.
struct ComparedWorkload {
  std::string dims;
  workload::Workload workload;
};

/// `file`, a workload or a recording, with each combination of `dims`. Throws InputError.
std::vector<ComparedWorkload> compared_workloads(const std::filesystem::path& file, const workload::DimLists& dims);

/// Called at the beginning and after each point: points done, of how many.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

/// Simulates each of `workloads` on each of `boards`, in `jobs` processes. Throws InputError where the workloads differ
/// in their operations, and where no point can be simulated.
BoardComparison compare(const std::vector<ComparedWorkload>& workloads, const std::vector<config::Architecture>& boards,
                        const run::SimulationOptions& asked, int jobs, const Progress& progress);

/// GPUs over which layers are split or experts are shared out: one of both is 1.
struct GpuSplit {
  int tensor_parallel = 1, expert_parallel = 1;

  int gpus() const { return tensor_parallel * expert_parallel; }
  bool operator==(const GpuSplit&) const = default;
};

/// What a comparison of types tries with each workload on each board.
struct TriedWays {
  std::vector<std::string> types;             ///< names that --dtype takes, at least one
  std::vector<GpuSplit> gpus = {GpuSplit{}};  ///< at least one
  bool dense = true, sparse = true;
};

/// Lists as the options of `compare --types` have them.
struct AskedWays {
  std::vector<std::string> types;
  /// "dense" and "2:4", or one value that --sparsity has without --types; none: those of --variants.
  std::vector<std::string> sparsity;
  std::vector<std::string> tensor_parallel, expert_parallel;  ///< neither: one GPU
};

/// Each number of GPUs is tried by itself: those of --tp, then those of --ep. A value of --sparsity
/// that is no list of weights is set in `options`. Throws InputError.
TriedWays parse_ways(const AskedWays& asked, run::SimulationOptions& options);

/// The same for each type and number of GPUs of `ways`: a pass as a whole, no layers. A point for
/// each combination, dimensions first, then boards, types and GPUs. What is not possible is the
/// `failure` of a point, or Candidate::impossible. Throws InputError where nothing is possible.
BoardComparison compare_types(const std::vector<ComparedWorkload>& workloads,
                              const std::vector<config::Architecture>& boards, const run::SimulationOptions& asked,
                              const TriedWays& ways, int jobs, const Progress& progress);

/// Whether `file` is a regular file that begins as one of those below does.
bool is_saved_result(const std::filesystem::path& file);

/// Results that `run` and `gemm` have saved as JSON, a point for each file. Throws InputError where
/// a file is no result.
BoardComparison compare_saved(const std::vector<std::filesystem::path>& files);

/// Which point gains most and least; of two saved results also how the second one's time differs;
/// of types what to choose, why, and how sure that is.
std::string comparison_verdict(const BoardComparison& comparison);

std::string comparison_text(const BoardComparison& comparison);
std::string comparison_json(const BoardComparison& comparison);
/// One row per point and operation, and one of the network with an empty operation; of types one per candidate.
std::string comparison_csv(const BoardComparison& comparison);
/// One page that needs no network; `command` repeats it.
std::string comparison_page(const BoardComparison& comparison, const std::string& command);

}  // namespace sptc::compare
