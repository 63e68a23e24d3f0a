// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/comparison.h"

#include "models/base/error.h"
#include "sim/check/times/evidence.h"
#include "sim/compare/decision.h"
#include "sim/compare/points.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/report/report.h"
#include "sim/report/verdict.h"
#include "sim/report/words.h"
#include "sim/run/asked_work.h"
#include "sim/run/run_options.h"
#include "sim/run/run_parts.h"
#include "sim/run/simulate.h"
#include "sim/run/worker_pool.h"
#include "sim/workload/importer/recording_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <utility>

template <typename Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
  static void to_json(json& to, const std::optional<Value>& from) { to = from ? json(*from) : json(); }
  static void from_json(const json& from, std::optional<Value>& to) {
    to = from.is_null() ? std::nullopt : std::optional(from.get<Value>());
  }
};

template <>
struct nlohmann::adl_serializer<sptc::run::MemoryUse> {
  static void to_json(json& to, const sptc::run::MemoryUse& use) {
    to = {use.weights, use.metadata, use.cache, use.activations, use.communication, use.capacity};
  }
  static void from_json(const json& from, sptc::run::MemoryUse& use) {
    use = {from[0], from[1], from[2], from[3], from[4], from[5]};
  }
};

namespace sptc::compare {
// What the process that fills a point sends of it.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ComparedVariant, us, uj, watts, bound)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ComparedFigures, dense, sparse, per_watt_low, per_watt_high, measured_shapes,
                                   measured_gain, simulated_gain)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Candidate, sparse, prunable_weights, sparse_weights, impossible, us, uj, watts,
                                   part_us, memory)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ComparedPoint, no_sparse, does_not_fit, evidence, measured_conditions, total,
                                   operations, error_percent, candidates)

namespace {

/// Adds what was measured on shapes like `op`: how many there are, and geometric means of their gains and of the
/// simulated gains of the same shapes.
void add_measured(const run::OperationResult& op, const run::MeasuredGain& gain, ComparedFigures& figures) {
  double measured = 0, simulated = 0;  // sums of logarithms
  for (const run::MeasuredPair& pair : gain.pairs) {
    if (op.speedup() && check::times::is_like(op, pair)) {
      ++figures.measured_shapes;
      measured += std::log(pair.gain());
      simulated += std::log(pair.simulated_gain());
    }
  }
  if (const auto count = static_cast<double>(figures.measured_shapes); count > 0) {
    figures.measured_gain = std::exp(measured / count);
    figures.simulated_gain = std::exp(simulated / count);
  }
}

/// Simulates in a worker; `whole`: the total is of a pass under an engine.
void fill_layers(ComparedPoint& point, const workload::Workload& workload, const config::Architecture& board,
                 const run::SimulationOptions& options, bool whole) {
  const run::RunResult result = run::simulate(workload, board, options);
  run::require_all_launches(result);
  const run::MeasuredGain gain = check::times::measured_neighbours(result, board, options);
  std::set<std::string> kinds;
  for (const run::MeasuredPair& pair : gain.pairs) {
    kinds.insert(fmt::format("{} {}: {}", numerics::name(pair.dtype), pair.pattern, pair.conditions));
  }
  point.measured_conditions.assign(kinds.begin(), kinds.end());
  point.evidence = report::evidence_sentence(check::times::evidence_distance(result, board));
  const auto saved = nlohmann::json::parse(report::json_report(result));
  const nlohmann::json& totals = saved.at("totals");
  point.total = whole ? figures_of_pass(totals).value_or(ComparedFigures()) : figures_of(totals);
  for (const nlohmann::json& operation : saved.at("operations")) {
    point.operations.push_back(figures_of(operation));
    add_measured(result.operations.at(point.operations.size() - 1), gain, point.operations.back());
  }
  if (options.variants != run::Variants::kDense && point.total.sparse.us == 0) {
    point.no_sparse =
        point.board + (has_sparse_instructions(board) ? " runs no sparse kernel of this workload ('run' says why)"
                                                      : " has no sparse matrix instructions");
  }
}

/// What runs of each of `workloads`. Throws InputError where they differ in their GEMMs.
std::vector<run::AskedWork> asked_of(const std::vector<ComparedWorkload>& workloads,
                                     const run::SimulationOptions& options) {
  std::vector<run::AskedWork> all;
  for (const ComparedWorkload& one : workloads) {
    const auto& asked = all.emplace_back(run::asked_work(one.workload, options)).operations;
    const auto& first = all.front().operations;
    if (!std::ranges::equal(first, asked, {}, &workload::Operation::name, &workload::Operation::name)) {
      io::refuse("compare: the operations with {} are not those with {}", one.dims, workloads.front().dims);
    }
  }
  return all;
}

std::string scope_of(const run::SimulationOptions& options, const workload::Workload& workload) {
  const auto& engine = options.network_engine;
  if (!engine || engine->gemms_only) {
    return BoardComparison().scope;
  }
  const int gpus = options.gpus();
  return fmt::format("one inference under engine '{}'{}{}", engine->name,
                     gpus > 1 ? fmt::format("{} over {} GPUs, figures of one of them",
                                            options.expert_parallel > 1 ? ", experts" : "", gpus)
                              : "",
                     beside_gemms(workload));
}

/// "batch=8, seq=384" of the dimensions that have several values.
std::string words_of(const workload::NamedDims& dims, const workload::DimLists& lists) {
  std::string words;
  for (const auto& [name, values] : lists) {
    if (values.size() > 1) {
      words += fmt::format("{}{}={}", words.empty() ? "" : ", ", name, dims.at(name));
    }
  }
  return words;
}

/// How the time of the second of two saved results differs from that of the first.
std::string change_sentence(const BoardComparison& comparison) {
  if (!comparison.is_of_two_results()) {
    return "";
  }
  const ComparedFigures& first = comparison.points.front().total;
  const ComparedFigures& second = comparison.points.back().total;
  std::string parts;
  const auto add = [&](const char* variant, double before, double after) {
    if (before > 0 && after > 0) {
      parts += fmt::format("{}{:.3f}x of its {} time", parts.empty() ? "" : " and ", after / before, variant);
    }
  };
  add("dense", first.dense.us, second.dense.us);
  add("sparse", first.sparse.us, second.sparse.us);
  return parts.empty() ? ""
                       : fmt::format("Against '{}', '{}' takes {}.", comparison.points.front().dims,
                                     comparison.points.back().dims, parts);
}

}  // namespace

std::optional<double> ComparedFigures::gain() const {
  return dense.us > 0 && sparse.us > 0 ? std::optional(dense.us / sparse.us) : std::nullopt;
}

std::optional<double> ComparedFigures::per_watt() const {
  return dense.uj > 0 && sparse.uj > 0 ? std::optional(dense.uj / sparse.uj) : std::nullopt;
}

std::vector<ComparedWorkload> compared_workloads(const std::filesystem::path& file, const workload::DimLists& dims) {
  const std::vector<workload::NamedDims> all = workload::combinations(dims);
  std::vector<workload::Recording> recordings = workload::importer::read_recordings(file, dims, {});
  base::ensure(all.size() == recordings.size(), "compare: a combination of dimensions is missing");
  std::vector<ComparedWorkload> workloads;
  for (std::size_t i = 0; i < all.size(); ++i) {
    workloads.push_back({words_of(all[i], dims), std::move(recordings[i].workload)});
  }
  return workloads;
}

void require_other_boards(const std::vector<config::Architecture>& boards) {
  std::vector<std::string> names;
  std::ranges::transform(boards, std::back_inserter(names), [](const auto& board) { return board.gpu.name; });
  require_each_once("--arch", std::move(names));
}

bool has_sparse_instructions(const config::Architecture& board) {
  return board.gpu.sm.tensor_core.selector_inputs > 1;
}

void fill_points(std::vector<ComparedPoint>& points, int jobs, const Progress& progress,
                 const std::function<void(std::size_t place, ComparedPoint& point)>& fill) {
  std::size_t done = 0;
  progress(done, points.size());
  run::for_each_in_workers(
      static_cast<std::size_t>(jobs), points.size(),
      [&](std::size_t i) {
        ComparedPoint point = points[i];
        fill(i, point);
        std::string bytes;  // CBOR: strings of any bytes
        nlohmann::json::to_cbor(point, bytes);
        return bytes;
      },
      [&](std::size_t i, run::WorkerPool::Event event) {
        ComparedPoint& point = points[i];
        try {
          nlohmann::json::from_cbor(run::answer_of(std::move(event))).get_to(point);
          if (point.total.dense.uj == 0 && point.total.sparse.uj == 0) {
            point.no_energy = point.board + " has no energies ('sptcsim energy list')";
          }
        } catch (const base::InputError& error) {
          point.failure = error.what();
        }
        progress(++done, points.size());
      });
  if (std::ranges::all_of(points, [](const ComparedPoint& point) { return !point.failure.empty(); })) {
    throw base::InputError(points.front().failure);
  }
}

std::string beside_gemms(const workload::Workload& workload) {
  return workload.vectors.empty() ? fmt::format("; not modelled: {}", run::kBesideGemms) : "";
}

BoardComparison compare(const std::vector<ComparedWorkload>& workloads, const std::vector<config::Architecture>& boards,
                        const run::SimulationOptions& asked, int jobs, const Progress& progress) {
  base::ensure(!workloads.empty() && !boards.empty() && jobs > 0, "compare: nothing to compare");
  require_other_boards(boards);
  run::require_link_used(asked);
  run::require_nothing_saved(asked, "a comparison");
  const run::SimulationOptions options = run::by_one_rule(asked, boards);
  run::SimulationOptions under_engine = options;
  under_engine.network_engine = run::asked_engine(options);
  BoardComparison comparison;
  comparison.workload = workloads.front().workload.name;
  comparison.scope = scope_of(under_engine, workloads.front().workload);
  comparison.made_by =
      run::made_by(options.fidelity, boards.size() == 1 ? std::optional(boards.front().gpu.sms) : std::nullopt);
  const std::vector<run::AskedWork> asked_works = asked_of(workloads, under_engine);
  for (const workload::Operation& op : asked_works.front().operations) {
    comparison.operations.push_back(op.name);  // an engine may merge some
  }
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    for (const config::Architecture& board : boards) {
      ComparedPoint& point = comparison.points.emplace_back();
      point.board = board.gpu.name;
      point.dims = workloads[i].dims;
      point.does_not_fit = run::does_not_fit(workloads[i].workload, asked_works[i], under_engine, board.gpu);
    }
  }
  fill_points(comparison.points, jobs, progress, [&](std::size_t i, ComparedPoint& point) {
    fill_layers(point, workloads[i / boards.size()].workload, boards[i % boards.size()], options,
                comparison.is_end_to_end());
  });
  return comparison;
}

std::string comparison_verdict(const BoardComparison& comparison) {
  if (comparison.is_of_types()) {
    return decision_verdict(comparison);
  }
  const ComparedPoint* least = nullptr;
  const ComparedPoint* most = nullptr;
  for (const ComparedPoint& point : comparison.points) {
    if (const auto gain = point.total.gain()) {
      least = least == nullptr || *gain < *least->total.gain() ? &point : least;
      most = most == nullptr || *gain > *most->total.gain() ? &point : most;
    }
  }
  if (least == nullptr) {
    return change_sentence(comparison);
  }
  const auto words = [](const ComparedPoint& point) {
    const char* const joint = point.dims.empty() ? "" : point.file.empty() ? " with " : " in ";
    return fmt::format("{:.2f}x on {}{}{}", *point.total.gain(), point.board, joint, point.dims);
  };
  const std::string name = report::fitted_name(comparison.workload, 90);
  const bool loses_there = *least->total.gain() < 1;
  std::string sentence;
  if (least == most) {
    sentence = fmt::format("Sparsity {}", loses_there ? "loses: " : "gains ") + words(*most);
  } else if (*most->total.gain() < 1) {
    sentence = fmt::format("Sparsity loses: {} at best, {} at worst", words(*most), words(*least));
  } else {
    sentence = fmt::format("Sparsity gains most, {}, and {}, {}", words(*most), loses_there ? "loses most" : "least",
                           words(*least));
  }
  sentence += fmt::format(" ({}{}).", name, comparison.is_end_to_end() ? "; " + comparison.scope : "");
  const std::string change = change_sentence(comparison);
  return sentence + (change.empty() ? "" : " ") + change;
}

}  // namespace sptc::compare
