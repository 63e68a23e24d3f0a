// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/numerics/data_type.h"
#include "sim/check/times/evidence.h"
#include "sim/compare/comparison.h"
#include "sim/compare/points.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/report/verdict.h"
#include "sim/run/asked_work.h"
#include "sim/run/energy.h"
#include "sim/run/option_table.h"
#include "sim/run/run_options.h"
#include "sim/run/simulate.h"

#include <fmt/format.h>

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
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::compare {
namespace {

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

/// All weights dense, or all as 2:4; nothing where that was not simulated.
std::optional<Candidate> whole_of(const run::RunResult& result, double quantised, bool sparse) {
  std::optional<Candidate> pass;
  if (const auto& inference = result.inference) {
    if (const auto& totals = sparse ? inference->sparse : inference->dense) {
      pass = pass_of(*totals, quantised);
    }
  } else if (const auto& gemms = sparse ? result.totals.sparse : result.totals.dense) {
    pass = pass_of(*gemms);
  }
  if (pass) {
    pass->sparse = sparse;
    pass->memory = sparse ? result.sparse_memory : result.dense_memory;
  }
  return pass;
}

/// The fastest mix or, where that alone does not fit the board, all weights as 2:4.
std::optional<Candidate> sparse_of(const run::RunResult& result, double quantised) {
  std::optional<Candidate> whole = whole_of(result, quantised, true);
  if (!whole) {
    return std::nullopt;
  }
  const auto& inference = result.inference;
  std::int64_t kept = 0;
  if (inference) {
    for (const run::InferenceKernel& kernel : inference->kernels) {
      if (kernel.group == WorkGroup::kGemm && kernel.sparse) {
        whole->prunable_weights += kernel.count;
        kept += kernel.takes_sparse ? 0 : kernel.count;
      }
    }
  } else {
    for (const run::OperationResult& op : result.operations) {
      whole->prunable_weights += op.sparse ? op.count : 0;
    }
  }
  whole->sparse_weights = whole->prunable_weights;
  if (!inference || !inference->mix) {
    return whole;
  }
  Candidate mix = pass_of(*inference->mix, quantised);
  mix.sparse = true;
  mix.prunable_weights = whole->prunable_weights;
  mix.sparse_weights = whole->prunable_weights - kept;
  mix.memory = result.mix_memory;
  return mix.fits() || !whole->fits() ? mix : whole;
}

/// How near to the board anything was measured, in a sentence, and the error of gains so far away.
using Evidence = std::pair<std::string, std::optional<double>>;

Evidence evidence_of(const run::RunResult& result, const config::Architecture& board,
                     const run::SimulationOptions& options) {
  const run::EvidenceDistance distance = check::times::evidence_distance(result, board);
  const std::string sentence = report::evidence_sentence(distance, result.gain().has_value());
  if (options.storage.weight) {
    return {sentence + fmt::format(" That is of products: with weights alone in {} nothing was measured.",
                                   numerics::name(*options.storage.weight)),
            std::nullopt};
  }
  return {sentence, distance.mean_error_percent};
}

/// What a worker keeps between points.
struct Kept {
  run::SimulationCaches caches;
  std::map<std::pair<std::string, std::string>, std::optional<Evidence>> evidence;  ///< by board and type
};

/// Adds the candidate, or says that there is none and `why`.
void add_candidate(const std::optional<Candidate>& candidate, bool sparse, const std::string& why,
                   ComparedPoint& point) {
  Candidate& added = point.candidates.emplace_back(candidate.value_or(Candidate()));
  added.sparse = sparse;
  if (!candidate) {
    added.impossible = why;
    return;
  }
  (sparse ? point.total.sparse : point.total.dense) = {added.us, added.uj, added.watts};
}

/// Simulates in a worker: the candidates of a point and its evidence.
void fill_candidates(ComparedPoint& point, workload::Workload workload, const config::Architecture& board,
                     const run::SimulationOptions& options, const TriedWays& ways, Kept& kept) {
  for (workload::Operation& op : workload.operations) {
    if (op.storage.weight) {
      op.storage = {};  // the type says how weights lie in memory
    }
  }
  run::SimulationHooks hooks;
  hooks.caches = &kept.caches;
  const run::RunResult result = run::simulate(workload, board, options, hooks);
  run::require_all_launches(result);
  std::optional<Evidence>& evidence = kept.evidence[{board.gpu.name, point.type}];
  if (!evidence) {
    evidence = evidence_of(result, board, options);
  }
  std::tie(point.evidence, point.error_percent) = *evidence;
  point.does_not_fit = result.does_not_fit;
  const double quantised = result.inference ? quantised_share(*result.inference) : 0;
  if (ways.dense) {
    add_candidate(whole_of(result, quantised, false), false, "it was not simulated", point);
  }
  if (ways.sparse) {
    const std::string no_sparse = !has_sparse_instructions(board) ? point.board + " has no sparse matrix instructions"
                                  : !result.no_sparse.empty()     ? result.no_sparse
                                                              : "no weight of the network may be 2:4 ('run' says why)";
    add_candidate(sparse_of(result, quantised), true, no_sparse, point);
    point.no_sparse = point.total.sparse.us > 0 ? "" : no_sparse;
  }
}

bool takes_several(const TriedWays& ways) {
  return std::ranges::any_of(ways.gpus, [](const GpuSplit& split) { return split.gpus() > 1; });
}

/// `asked` for each type and number of GPUs of `ways`, the latter fastest. Throws InputError.
std::vector<run::SimulationOptions> options_of(const run::SimulationOptions& asked, const TriedWays& ways) {
  const run::PartTypes& parts = asked.parts;
  if (asked.dtype || parts.attention || parts.router || parts.head || !asked.storage.plain()) {
    throw base::InputError("--types says what --dtype, --weight-dtype and --scale-block would: leave them out");
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
                              const TriedWays& ways, int jobs, const Progress& progress) {
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
  Kept kept;
  fill_points(comparison.points, jobs, progress, [&](std::size_t i, ComparedPoint& point) {
    const std::size_t board = i / options.size();
    fill_candidates(point, workloads[board / boards.size()].workload, boards[board % boards.size()],
                    options[i % options.size()], ways, kept);
  });
  for (ComparedPoint& point : comparison.points) {
    for (const bool sparse : {false, true}) {
      if (!point.failure.empty() && (sparse ? ways.sparse : ways.dense)) {
        add_candidate({}, sparse, point.failure, point);
      }
    }
  }
  return comparison;
}

}  // namespace sptc::compare
