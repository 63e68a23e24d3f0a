// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/data_type.h"
#include "sim/check/times/evidence_distance.h"
#include "sim/compare/comparison.h"
#include "sim/compare/each_once.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/report/verdict.h"
#include "sim/run/asked_work.h"
#include "sim/run/energy.h"
#include "sim/run/option_table.h"
#include "sim/run/run_options.h"
#include "sim/run/simulate.h"
#include "sim/run/worker_pool.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::compare {
namespace {

using nlohmann::json;
using workload::WorkGroup;

/// Under which a comparison of types runs where nobody names one: it has all types.
constexpr const char* kUsualEngine = "compiled";

/// The share that quantisations which are kernels of their own have in the time of element-wise kernels with dense
/// weights. One that is fused counts with what it is fused with.
double quantised_share(const run::InferenceResult& inference) {
  double quantised = 0;
  double all = 0;
  for (const run::InferenceKernel& kernel : inference.kernels) {
    if (kernel.group == WorkGroup::kElementwise && kernel.dense) {
      const double us = static_cast<double>(kernel.count) * kernel.dense->time_us;
      all += us;
      quantised += kernel.quantises ? us : 0;
    }
  }
  return all > 0 ? quantised / all : 0;
}

Candidate pass_of(const run::InferenceTotals& totals, double quantised) {
  const auto us = [&](WorkGroup group) { return totals.group_us[static_cast<std::size_t>(group)]; };
  Candidate pass;
  pass.us = totals.latency_us;
  pass.uj = totals.energy_uj.value_or(0);
  pass.watts = totals.power_w.value_or(0);
  pass.part_us = {us(WorkGroup::kGemm),
                  us(WorkGroup::kAttention) + us(WorkGroup::kSoftmax),
                  us(WorkGroup::kCommunication),
                  us(WorkGroup::kElementwise) * quantised,
                  totals.waiting_us,
                  0};
  pass.part_us.back() = std::max(0.0, pass.us - std::accumulate(pass.part_us.begin(), pass.part_us.end(), 0.0));
  return pass;
}

/// A pass of GEMMs alone.
Candidate pass_of(const run::VariantTotals& totals) {
  Candidate pass;
  pass.us = pass.part_us.front() = totals.time_us;
  if (totals.energy) {
    pass.uj = totals.energy->total_uj;
    pass.watts = totals.energy->power_w;
  }
  return pass;
}

std::optional<Candidate> dense_of(const run::RunResult& result, double quantised) {
  const auto& inference = result.inference;
  if (inference ? !inference->dense : !result.totals.dense) {
    return std::nullopt;
  }
  Candidate pass = inference ? pass_of(*inference->dense, quantised) : pass_of(*result.totals.dense);
  pass.memory = result.dense_memory;
  return pass;
}

/// The fastest mix or, where that alone does not fit the board, all weights as 2:4.
std::optional<Candidate> sparse_of(const run::RunResult& result, double quantised) {
  const auto& inference = result.inference;
  if (inference ? !inference->sparse : !result.totals.sparse) {
    return std::nullopt;
  }
  Candidate whole = inference ? pass_of(*inference->sparse, quantised) : pass_of(*result.totals.sparse);
  whole.sparse = true;
  whole.memory = result.sparse_memory;
  std::int64_t kept = 0;
  if (inference) {
    for (const run::InferenceKernel& kernel : inference->kernels) {
      if (kernel.group == WorkGroup::kGemm && kernel.sparse) {
        whole.prunable_weights += kernel.count;
        kept += kernel.takes_sparse ? 0 : kernel.count;
      }
    }
  } else {
    for (const run::OperationResult& op : result.operations) {
      whole.prunable_weights += op.sparse ? op.count : 0;
    }
  }
  whole.sparse_weights = whole.prunable_weights;
  if (!inference || !inference->mix) {
    return whole;
  }
  Candidate mix = pass_of(*inference->mix, quantised);
  mix.sparse = true;
  mix.prunable_weights = whole.prunable_weights;
  mix.sparse_weights = whole.prunable_weights - kept;
  mix.memory = result.mix_memory;
  return mix.fits() || !whole.fits() ? mix : whole;
}

json sent_form(const std::optional<Candidate>& candidate) {
  if (!candidate) {
    return {};
  }
  json object{{"us", candidate->us},
              {"uj", candidate->uj},
              {"watts", candidate->watts},
              {"parts", candidate->part_us},
              {"prunable", candidate->prunable_weights},
              {"sparse", candidate->sparse_weights}};
  if (const auto& memory = candidate->memory) {
    object["memory"] = {memory->weights,     memory->metadata,      memory->cache,
                        memory->activations, memory->communication, memory->capacity};
  }
  return object;
}

Candidate candidate_of(const json& object, bool sparse) {
  Candidate candidate;
  candidate.sparse = sparse;
  candidate.us = object.at("us").get<double>();
  candidate.uj = object.at("uj").get<double>();
  candidate.watts = object.at("watts").get<double>();
  object.at("parts").get_to(candidate.part_us);
  candidate.prunable_weights = object.at("prunable").get<std::int64_t>();
  candidate.sparse_weights = object.at("sparse").get<std::int64_t>();
  if (object.contains("memory")) {
    const auto bytes = object.at("memory").get<std::array<double, 6>>();
    candidate.memory = run::MemoryUse{bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]};
  }
  return candidate;
}

/// How near to the board anything was measured, in a sentence, and the error of gains so far away.
json evidence_of(const run::RunResult& result, const config::Architecture& board,
                 const run::SimulationOptions& options) {
  const run::EvidenceDistance distance = check::times::evidence_distance(result, board);
  std::string sentence = report::evidence_sentence(distance, result.gain().has_value());
  if (options.storage.weight) {
    sentence += fmt::format(" That is of products: with weights alone in {} nothing was measured.",
                            numerics::name(*options.storage.weight));
    return {sentence, nullptr};
  }
  return {sentence, distance.mean_error_percent ? json(*distance.mean_error_percent) : json()};
}

/// What a worker keeps between points.
struct Kept {
  run::SimulationCaches caches;
  std::map<std::pair<std::string, std::string>, json> evidence;  ///< by board and type
};

/// Simulates in a worker: the candidates of a point and its evidence, as CBOR, whose strings may hold any bytes.
std::string simulated(workload::Workload workload, const config::Architecture& board, const std::string& type,
                      const run::SimulationOptions& options, Kept& kept) {
  for (workload::Operation& op : workload.operations) {
    if (op.storage.weight) {
      op.storage = {};  // the type says how weights lie in memory
    }
  }
  run::SimulationHooks hooks;
  hooks.caches = &kept.caches;
  const run::RunResult result = run::simulate(workload, board, options, hooks);
  run::require_all_launches(result);
  json& evidence = kept.evidence[{board.gpu.name, type}];
  if (evidence.is_null()) {
    evidence = evidence_of(result, board, options);
  }
  const double quantised = result.inference ? quantised_share(*result.inference) : 0;
  std::string bytes;
  json::to_cbor({{"dense", sent_form(dense_of(result, quantised))},
                 {"sparse", sent_form(sparse_of(result, quantised))},
                 {"no_sparse", result.no_sparse},
                 {"does_not_fit", result.does_not_fit},
                 {"evidence", evidence}},
                bytes);
  return bytes;
}

ComparedVariant variant_of(const Candidate& candidate) {
  return {candidate.us, candidate.uj, candidate.watts};
}

/// Adds the candidate that `answer` has, or says that there is none and why.
void add_candidate(const json& answer, bool sparse, const std::string& why, ComparedPoint& point) {
  if (answer.is_null()) {
    Candidate none;
    none.sparse = sparse;
    none.impossible = why;
    point.candidates.push_back(std::move(none));
    return;
  }
  point.candidates.push_back(candidate_of(answer, sparse));
  (sparse ? point.total.sparse : point.total.dense) = variant_of(point.candidates.back());
}

std::string why_not_sparse(const ComparedPoint& point, bool has_sparse, const std::string& no_kernels) {
  return !has_sparse           ? point.board + " has no sparse matrix instructions"
         : !no_kernels.empty() ? no_kernels
                               : "no weight of the network may be 2:4 ('run' says why)";
}

/// Fills `point` with what simulated() answered.
void finish(const TriedWays& ways, bool has_sparse, run::WorkerPool::Event event, ComparedPoint& point) {
  json answer = {{"dense", nullptr}, {"sparse", nullptr}};
  std::string no_sparse;
  try {
    answer = json::from_cbor(run::answer_of(std::move(event)));
    point.evidence = answer.at("evidence").at(0).get<std::string>();
    if (const json& error = answer.at("evidence").at(1); error.is_number()) {
      point.error_percent = error.get<double>();
    }
    point.does_not_fit = answer.at("does_not_fit").get<std::string>();
    no_sparse = why_not_sparse(point, has_sparse, answer.at("no_sparse").get<std::string>());
  } catch (const base::InputError& error) {
    point.failure = error.what();
  }
  const bool failed = !point.failure.empty();
  if (ways.dense) {
    add_candidate(answer.at("dense"), false, failed ? point.failure : "it was not simulated", point);
  }
  if (ways.sparse) {
    add_candidate(answer.at("sparse"), true, failed ? point.failure : no_sparse, point);
    point.no_sparse = failed || point.total.sparse.us > 0 ? "" : no_sparse;
  }
  if (!failed && point.total.dense.uj == 0 && point.total.sparse.uj == 0) {
    point.no_energy = point.board + " has no energies ('sptcsim energy list')";
  }
}

bool takes_several(const TriedWays& ways) {
  return std::ranges::any_of(ways.gpus, [](const GpuSplit& split) { return split.gpus() > 1; });
}

/// `asked` for each type and number of GPUs of `ways`, the latter fastest. Throws InputError.
std::vector<run::SimulationOptions> options_of(const run::SimulationOptions& asked, const TriedWays& ways) {
  const run::PartTypes& parts = asked.parts;
  if (asked.dtype || parts.attention || parts.router || parts.head || !asked.storage.plain()) {
    throw base::InputError(
        "--types says what --dtype, --weight-dtype and --scale-block would: "
        "leave them out");
  }
  if (asked.check.value_or(run::CheckMode::kNone) != run::CheckMode::kNone) {
    throw base::InputError("--check has no effect with --types, which asks for times alone");
  }
  if (!takes_several(ways)) {
    run::require_link_used(asked);
  }
  std::vector<run::SimulationOptions> all;
  for (const std::string& type : ways.types) {
    for (const GpuSplit& split : ways.gpus) {
      run::SimulationOptions& options = all.emplace_back(run::times_alone(asked));
      run::simulation_option("dtype").set(options, "--types", type);
      options.engine = asked.engine.empty() ? kUsualEngine : asked.engine;
      options.tensor_parallel = split.tensor_parallel;
      options.expert_parallel = split.expert_parallel;
      // A mix compares both.
      options.variants = ways.sparse ? run::Variants::kBoth : run::Variants::kDense;
      if (all.size() <= ways.gpus.size()) {
        run::asked_engine(options);  // refuses what no board could run
      }
    }
  }
  return all;
}

std::string scope_of(const run::SimulationOptions& options, const TriedWays& ways, const workload::Workload& workload) {
  const auto engine = run::asked_engine(options);
  if (!engine || engine->gemms_only) {
    return BoardComparison().scope;
  }
  const bool several = takes_several(ways);
  const bool experts = std::ranges::any_of(ways.gpus, [](const GpuSplit& split) { return split.expert_parallel > 1; });
  return fmt::format("one inference under engine '{}{}{}'{}{}{}", engine->name, engine->version.empty() ? "" : " ",
                     engine->version, several ? ", watts and bytes of one GPU, joules of all" : "",
                     experts ? ", experts that are shared out with as many tokens each" : "", beside_gemms(workload));
}

/// The numbers that `option`, "tp" or "ep", takes. Throws InputError.
std::vector<int> numbers_of(const char* option, int run::SimulationOptions::*number,
                            const std::vector<std::string>& list) {
  std::vector<int> numbers;
  for (const std::string& text : list) {
    run::SimulationOptions one;
    run::set_option(one, option, text);
    numbers.push_back(one.*number);
  }
  return numbers;
}

/// Sets --sparsity where it is no list of weights; false where it is one. Throws InputError.
bool set_plain_sparsity(run::SimulationOptions& options, const std::vector<std::string>& parts) {
  static constexpr std::array<std::string_view, 4> kAllowed{"dense", "2:4", "all", "auto"};
  const auto place = [](const std::string& part) { return std::ranges::find(kAllowed, part) - kAllowed.begin(); };
  for (const std::string& part : parts) {
    const bool is_file = part.find_first_of("./") != std::string::npos;
    if (!is_file && place(part) == std::ssize(kAllowed)) {
      throw base::InputError("unknown --sparsity " + base::unknown_name(io::printable(part), kAllowed));
    }
  }
  if (std::ranges::all_of(parts, [&](const std::string& part) { return place(part) < 2; })) {
    return false;
  }
  if (parts.size() > 1) {
    throw base::InputError("--sparsity is a list of dense and 2:4, or one of all, auto and a file");
  }
  run::set_option(options, "sparsity", parts.front());
  return true;
}

}  // namespace

std::string Candidate::weights() const {
  if (!sparse || sparse_weights == prunable_weights) {
    return sparse ? "2:4" : "dense";
  }
  constexpr std::size_t kMost = 12;
  const std::string counts = fmt::format("2:4 {}/{}", sparse_weights, prunable_weights);
  const double percent = 100 * static_cast<double>(sparse_weights) / static_cast<double>(prunable_weights);
  return counts.size() <= kMost ? counts : fmt::format("2:4 in {:.0f} %", percent);
}

TriedWays parse_ways(const AskedWays& asked, run::SimulationOptions& options) {
  const std::vector<std::string>& sparsity = asked.sparsity;
  TriedWays ways;
  ways.types = asked.types;
  require_each_once("--types", ways.types);
  const auto layers = numbers_of("tp", &run::SimulationOptions::tensor_parallel, asked.tensor_parallel);
  const auto experts = numbers_of("ep", &run::SimulationOptions::expert_parallel, asked.expert_parallel);
  require_each_once("--tp", layers);
  require_each_once("--ep", experts);
  if (!layers.empty() || !experts.empty()) {
    ways.gpus.clear();
  }
  for (const int gpus : layers) {
    ways.gpus.push_back({gpus, 1});
  }
  for (const int gpus : experts) {
    if (std::ranges::find(ways.gpus, GpuSplit{1, gpus}) == ways.gpus.end()) {  // one GPU is one
      ways.gpus.push_back({1, gpus});
    }
  }
  ways.dense = options.variants != run::Variants::kSparse;
  ways.sparse = options.variants != run::Variants::kDense;
  if (!sparsity.empty() && !set_plain_sparsity(options, sparsity)) {
    if (options.variants != run::Variants::kBoth) {
      throw base::InputError("--variants and --sparsity both say which weights: give one");
    }
    require_each_once("--sparsity", sparsity);
    ways.dense = std::ranges::find(sparsity, "dense") != sparsity.end();
    ways.sparse = std::ranges::find(sparsity, "2:4") != sparsity.end();
  }
  return ways;
}

BoardComparison compare_types(const std::vector<ComparedWorkload>& workloads,
                              const std::vector<config::Architecture>& boards, const run::SimulationOptions& asked,
                              const TriedWays& ways, int jobs,
                              const std::function<void(std::size_t, std::size_t)>& progress) {
  base::ensure(!workloads.empty() && !boards.empty() && jobs > 0, "compare: nothing to compare");
  base::ensure(!ways.types.empty() && !ways.gpus.empty() && (ways.dense || ways.sparse), "compare: nothing to try");
  require_other_boards(boards);
  run::require_nothing_saved(asked, "a comparison");
  if (asked.training) {
    throw base::InputError("compare --types takes no --training: 'run' does, and so does compare without --types");
  }
  const std::vector<run::SimulationOptions> options = options_of(run::by_one_rule(asked, boards), ways);
  BoardComparison comparison;
  comparison.workload = workloads.front().workload.name;
  comparison.types = ways.types;
  comparison.scope = scope_of(options.front(), ways, workloads.front().workload);
  comparison.made_by =
      run::made_by(asked.fidelity, boards.size() == 1 ? std::optional(boards.front().gpu.sms) : std::nullopt);
  for (const ComparedWorkload& one : workloads) {
    for (const config::Architecture& board : boards) {
      for (std::size_t way = 0; way < options.size(); ++way) {
        ComparedPoint& point = comparison.points.emplace_back();
        point.board = board.gpu.name;
        point.dims = one.dims;
        point.type = ways.types[way / ways.gpus.size()];
        point.pass = run::pass_kind(one.workload);
        point.pass.gpus = options[way].gpus();
        point.pass.shares_experts = options[way].expert_parallel > 1;
      }
    }
  }
  const std::size_t total = comparison.points.size();
  const auto board_of = [&](std::size_t i) -> const config::Architecture& {
    return boards[i / options.size() % boards.size()];
  };
  std::size_t done = 0;
  progress(done, total);
  Kept kept;
  run::for_each_in_workers(
      static_cast<std::size_t>(jobs), total,
      [&](std::size_t i) {
        return simulated(workloads[i / options.size() / boards.size()].workload, board_of(i), comparison.points[i].type,
                         options[i % options.size()], kept);
      },
      [&](std::size_t i, run::WorkerPool::Event event) {
        const bool has_sparse = board_of(i).gpu.sm.tensor_core.selector_inputs > 1;
        finish(ways, has_sparse, std::move(event), comparison.points[i]);
        progress(++done, total);
      });
  const auto is_possible = [](const ComparedPoint& point) { return point.failure.empty(); };
  if (std::none_of(comparison.points.begin(), comparison.points.end(), is_possible)) {
    throw base::InputError(comparison.points.front().failure);
  }
  return comparison;
}

}  // namespace sptc::compare
