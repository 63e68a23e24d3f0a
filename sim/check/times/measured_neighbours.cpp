// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/measured_neighbours.h"

#include "sim/check/times/launch_simulation.h"
#include "sim/config/architecture.h"
#include "sim/config/named_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace sptc::check::times {
namespace {

/// A sparse row and the dense one of the same shape and conditions.
struct RowPair {
  const Measurement* dense = nullptr;
  const Measurement* sparse = nullptr;
};

/// Whether `launch` took the path that `asked` takes: the algorithm of the library, and for its default kernels the
/// layout.
bool on_path(const MeasuredLaunch& launch, const run::SimulationOptions& asked) {
  const kernels::Algorithm algorithm = asked.sparse_algorithm.value_or(asked.conditions.algorithm);
  return launch.conditions.algorithm == algorithm &&
         (algorithm == kernels::Algorithm::kBest || launch.conditions.layout == asked.conditions.layout);
}

/// Pairs of `rows`, each shape and sparsity once, in the order of the sparse rows.
std::vector<RowPair> pairs_of(const std::vector<Measurement>& rows) {
  std::map<decltype(MeasuredLaunch().gain_key()), const Measurement*> dense;
  for (const Measurement& row : rows) {
    if (!row.launch.pattern && row.launch.makes_gain()) {
      dense.try_emplace(row.launch.gain_key(), &row);
    }
  }
  std::vector<RowPair> pairs;
  std::map<decltype(MeasuredLaunch().key()), bool> seen;
  for (const Measurement& row : rows) {
    const auto base = dense.find(row.launch.gain_key());
    if (row.launch.pattern && base != dense.end() && seen.try_emplace(row.launch.key(), true).second) {
      pairs.push_back({base->second, &row});
    }
  }
  return pairs;
}

/// Conditions of the launches of a pair; `board` is that of its file.
std::string conditions_of(const Measurement& row, const std::string& board) {
  return fmt::format("{}, cuBLASLt and cuSPARSELt, {}, {}", board, row.launch.conditions_text(),
                     row.source.empty() ? "evidence/" + board + ".csv" : row.source);
}

run::MeasuredTime time_of(LaunchSimulation& simulation, const Measurement& row) {
  const Prediction prediction = simulation(row.launch);
  return {row.time_us, prediction.time_us, prediction.bytes};
}

}  // namespace

bool is_like(const run::OperationResult& op, const run::MeasuredPair& pair) {
  return op.batch == 1 && pair.is_like(op.shape, op.dtype, op.pattern);
}

std::vector<Measurement> evidence_of(const std::string& name) {
  if (config::is_path(name)) {
    return {};
  }
  for (const std::filesystem::path& directory : config::config_directories("evidence")) {
    const std::filesystem::path file = directory / (name + ".csv");
    if (std::filesystem::is_regular_file(file)) {
      return read_measurements(file);
    }
  }
  return {};
}

std::set<numerics::DataType> types_of_pairs(const std::vector<Measurement>& rows) {
  std::set<numerics::DataType> types;
  for (const RowPair& pair : pairs_of(rows)) {
    types.insert(pair.sparse->launch.dtype);
  }
  return types;
}

run::MeasuredGain measured_neighbours(const run::RunResult& result, const config::Architecture& architecture,
                                      const run::SimulationOptions& asked, const std::vector<Measurement>& rows) {
  run::MeasuredGain gain;
  std::vector<const run::OperationResult*> operations;
  for (const run::OperationResult& op : result.operations) {
    if (op.speedup()) {
      operations.push_back(&op);
    }
  }
  gain.layers = static_cast<std::int64_t>(operations.size());
  std::vector<bool> has_pair(operations.size());
  std::vector<RowPair> like;
  std::vector<RowPair> pairs = pairs_of(rows);
  const auto elsewhere = [&](const RowPair& pair) { return !on_path(pair.sparse->launch, asked); };
  if (!std::all_of(pairs.begin(), pairs.end(), elsewhere)) {
    std::erase_if(pairs, elsewhere);  // else no pair took that path, and each says which it took
  }
  for (const RowPair& pair : pairs) {
    bool any = false;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const MeasuredLaunch& launch = pair.sparse->launch;
      if (is_like(*operations[i], {launch.shape, launch.dtype, launch.sparsity(), {}, {}, {}})) {
        has_pair[i] = any = true;
      }
    }
    if (any) {
      like.push_back(pair);
    }
  }
  gain.layers_like = std::count(has_pair.begin(), has_pair.end(), true);
  if (like.empty()) {
    return gain;
  }
  run::SimulationOptions options;
  options.fidelity = run::Fidelity::kAnalytic;
  options.numerics = asked.numerics;
  options.library = asked.library;
  const config::Architecture board = run::with_asked(architecture, options);
  run::EnergyFiles files;
  LaunchSimulation simulation(board, run::resolved(options, board, files));
  for (const RowPair& pair : like) {
    const MeasuredLaunch& launch = pair.sparse->launch;
    gain.pairs.push_back({launch.shape, launch.dtype, launch.sparsity(), time_of(simulation, *pair.dense),
                          time_of(simulation, *pair.sparse), conditions_of(*pair.sparse, board.gpu.name)});
  }
  return gain;
}

run::MeasuredGain measured_neighbours(const run::RunResult& result, const config::Architecture& architecture,
                                      const run::SimulationOptions& asked) {
  return measured_neighbours(result, architecture, asked, evidence_of(architecture.gpu.name));
}

}  // namespace sptc::check::times
