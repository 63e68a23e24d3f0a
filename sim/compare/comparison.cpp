// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/comparison.h"

#include "models/base/error.h"
#include "sim/check/times/evidence_distance.h"
#include "sim/check/times/measured_neighbours.h"
#include "sim/compare/decision.h"
#include "sim/compare/each_once.h"
#include "sim/config/architecture.h"
#include "sim/report/report.h"
#include "sim/report/verdict.h"
#include "sim/report/words.h"
#include "sim/run/run.h"
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

namespace sptc::compare {
namespace {

/// What was measured on shapes like `op`: how many there are, and geometric means of their gains
/// and of the simulated gains of the same shapes.
nlohmann::json measured_on(const run::OperationResult& op, const run::MeasuredGain& gain) {
  std::int64_t shapes = 0;
  double measured = 0, simulated = 0;  // sums of logarithms
  for (const run::MeasuredPair& pair : gain.pairs) {
    if (op.speedup() && check::times::is_like(op, pair)) {
      ++shapes;
      measured += std::log(pair.gain());
      simulated += std::log(pair.simulated_gain());
    }
  }
  const double count = std::max(1.0, static_cast<double>(shapes));
  return {shapes, std::exp(measured / count), std::exp(simulated / count)};
}

/// Simulates in a worker: the result as it is saved, how near to the board anything was measured, what was measured on
/// shapes like each operation, and the conditions of that, a line for each kind. CBOR: strings of any bytes.
std::string simulated(const workload::Workload& workload, const config::Architecture& board,
                      const run::SimulationOptions& options) {
  const run::RunResult result = run::simulate(workload, board, options);
  run::require_all_launches(result);
  const run::MeasuredGain gain = check::times::measured_neighbours(result, board, options);
  const std::string evidence = report::evidence_sentence(check::times::evidence_distance(result, board));
  auto measured = nlohmann::json::array();
  for (const run::OperationResult& op : result.operations) {
    measured.push_back(measured_on(op, gain));
  }
  std::set<std::string> kinds;
  for (const run::MeasuredPair& pair : gain.pairs) {
    kinds.insert(fmt::format("{} {}: {}", numerics::name(pair.dtype), pair.pattern, pair.conditions));
  }
  std::string bytes;
  nlohmann::json::to_cbor({{"result", nlohmann::json::parse(report::json_report(result))},
                           {"evidence", evidence},
                           {"measured", measured},
                           {"conditions", kinds}},
                          bytes);
  return bytes;
}

/// What runs of each of `workloads`. Throws InputError where they differ in their GEMMs.
std::vector<run::AskedWork> asked_of(const std::vector<ComparedWorkload>& workloads,
                                     const run::SimulationOptions& options) {
  std::vector<run::AskedWork> all;
  for (const ComparedWorkload& one : workloads) {
    const auto& asked = all.emplace_back(run::asked_work(one.workload, options)).operations;
    const auto& first = all.front().operations;
    const bool same =
        std::equal(first.begin(), first.end(), asked.begin(), asked.end(),
                   [](const workload::Operation& a, const workload::Operation& b) { return a.name == b.name; });
    if (!same) {
      throw base::InputError(
          fmt::format("compare: the operations with {} are not those with {}", one.dims, workloads.front().dims));
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

/// Fills `point` with what simulated() answered; `whole`: its total is of a pass under an engine.
void finish(ComparedPoint& point, bool whole, bool wants_sparse, bool has_sparse, run::WorkerPool::Event event) {
  try {
    const auto answer = nlohmann::json::from_cbor(run::answer_of(std::move(event)));
    const nlohmann::json& result = answer.at("result");
    const nlohmann::json& totals = result.at("totals");
    point.measured_conditions = answer.at("conditions").get<std::vector<std::string>>();
    point.evidence = answer.at("evidence").get<std::string>();
    point.total = whole ? figures_of_pass(totals).value_or(ComparedFigures()) : figures_of(totals);
    for (const nlohmann::json& operation : result.at("operations")) {
      ComparedFigures& figures = point.operations.emplace_back(figures_of(operation));
      const nlohmann::json& measured = answer.at("measured").at(point.operations.size() - 1);
      figures.measured_shapes = measured.at(0).get<std::int64_t>();
      if (figures.measured_shapes > 0) {
        figures.measured_gain = measured.at(1).get<double>();
        figures.simulated_gain = measured.at(2).get<double>();
      }
    }
    if (wants_sparse && point.total.sparse.us == 0) {
      point.no_sparse = point.board + (has_sparse ? " runs no sparse kernel of this workload ('run' says why)"
                                                  : " has no sparse matrix instructions");
    }
    if (point.total.dense.uj == 0 && point.total.sparse.uj == 0) {
      point.no_energy = point.board + " has no energies ('sptcsim energy list')";
    }
  } catch (const base::InputError& error) {
    point.failure = error.what();
  }
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

std::string beside_gemms(const workload::Workload& workload) {
  return workload.vectors.empty() ? fmt::format("; not modelled: {}", run::kBesideGemms) : "";
}

BoardComparison compare(const std::vector<ComparedWorkload>& workloads, const std::vector<config::Architecture>& boards,
                        const run::SimulationOptions& asked, int jobs,
                        const std::function<void(std::size_t, std::size_t)>& progress) {
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
  const std::size_t total = workloads.size() * boards.size();
  comparison.points.reserve(total);
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    for (const config::Architecture& board : boards) {
      ComparedPoint& point = comparison.points.emplace_back();
      point.board = board.gpu.name;
      point.dims = workloads[i].dims;
      point.does_not_fit = run::does_not_fit(workloads[i].workload, asked_works[i], under_engine, board.gpu);
    }
  }
  std::size_t done = 0;
  progress(done, total);
  run::for_each_in_workers(
      static_cast<std::size_t>(jobs), total,
      [&](std::size_t i) {
        return simulated(workloads[i / boards.size()].workload, boards[i % boards.size()], options);
      },
      [&](std::size_t i, run::WorkerPool::Event event) {
        const sm::SmSpec& sm = boards[i % boards.size()].gpu.sm;
        finish(comparison.points[i], comparison.is_end_to_end(), options.variants != run::Variants::kDense,
               sm.tensor_core.selector_inputs > 1, std::move(event));
        progress(++done, total);
      });
  if (std::all_of(comparison.points.begin(), comparison.points.end(),
                  [](const ComparedPoint& point) { return !point.failure.empty(); })) {
    throw base::InputError(comparison.points.front().failure);
  }
  return comparison;
}

namespace {

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
