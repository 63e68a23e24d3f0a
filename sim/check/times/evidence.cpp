// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/evidence.h"

#include "sim/check/times/launch_simulation.h"
#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/config/named_file.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace sptc::check::times {
namespace {

using numerics::DataType;
using run::EvidenceDistance;
using Where = EvidenceDistance::Where;

constexpr const char* kFolder = "evidence";
constexpr std::array<std::string_view, 4> kKeys{"board", "chip", "generation", "none"};

/// The first file of that name in evidence/ of the configuration directories.
std::optional<std::filesystem::path> evidence_file(const std::string& name) {
  for (const std::filesystem::path& directory : config::config_directories(kFolder)) {
    if (std::filesystem::is_regular_file(directory / name)) {
      return directory / name;
    }
  }
  return std::nullopt;
}

// Pairs -------------------------------------------------------------------------------------------

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
  std::set<decltype(MeasuredLaunch().key())> seen;
  for (const Measurement& row : rows) {
    const auto base = dense.find(row.launch.gain_key());
    if (row.launch.pattern && base != dense.end() && seen.insert(row.launch.key()).second) {
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

// Distance ----------------------------------------------------------------------------------------

/// A board with measured pairs, whose rows are read when they are asked for.
struct MeasuredBoard {
  std::string name, chip, generation;
  std::optional<std::set<DataType>> types = std::nullopt;

  bool has(DataType type) {
    if (!types) {
      types.emplace();
      const std::vector<Measurement> rows = evidence_of(name);
      for (const RowPair& pair : pairs_of(rows)) {
        types->insert(pair.sparse->launch.dtype);
      }
    }
    return types->contains(type);
  }
};

MeasuredBoard as_measured(const config::Architecture& architecture) {
  return {architecture.gpu.name, config::chip_of_board(architecture), architecture.gpu.instruction_set};
}

/// The boards that files in evidence/ are called after and that have an architecture file.
std::vector<MeasuredBoard> measured_boards() {
  const std::vector<std::string> known = config::architecture_names();
  std::set<std::string> names;
  for (const std::filesystem::path& directory : config::config_directories(kFolder)) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      const std::string name = entry.path().stem().string();
      if (entry.path().extension() == ".csv" && std::binary_search(known.begin(), known.end(), name)) {
        names.insert(name);
      }
    }
  }
  std::vector<MeasuredBoard> boards;
  for (const std::string& name : names) {
    boards.push_back(as_measured(config::load_architecture(name)));
  }
  return boards;
}

Where where_is(const MeasuredBoard& board, const MeasuredBoard& own) {
  return board.name == own.name                        ? Where::kBoard
         : !own.chip.empty() && board.chip == own.chip ? Where::kChip
         : board.generation == own.generation          ? Where::kGeneration
                                                       : Where::kNone;
}

/// Sets where of `boards` pairs of its type are nearest to `own`.
void find_nearest(const MeasuredBoard& own, std::vector<MeasuredBoard>& boards, EvidenceDistance& distance) {
  for (const Where where : {Where::kBoard, Where::kChip, Where::kGeneration}) {
    for (MeasuredBoard& board : boards) {
      if (where_is(board, own) == where && board.has(distance.type)) {
        distance.boards.push_back(board.name);
        distance.where = where;
      }
    }
    if (!distance.boards.empty()) {
      return;
    }
  }
}

/// Types of the operations that have a gain, or where none has the type of most products.
std::set<DataType> types_of(const run::RunResult& result) {
  std::set<DataType> with_gain;
  std::map<DataType, double> products;
  for (const run::OperationResult& op : result.operations) {
    products[op.dtype] += static_cast<double>(op.shape.m) * static_cast<double>(op.shape.n) *
                          static_cast<double>(op.shape.k) * static_cast<double>(op.batch * op.count);
    if (op.speedup()) {
      with_gain.insert(op.dtype);
    }
  }
  if (!with_gain.empty() || products.empty()) {
    return with_gain;
  }
  return {std::ranges::max_element(products, {}, [](const auto& row) { return row.second; })->first};
}

}  // namespace

std::vector<Measurement> evidence_of(const std::string& name) {
  const auto file = config::is_path(name) ? std::nullopt : evidence_file(name + ".csv");
  return file ? read_measurements(*file) : std::vector<Measurement>();
}

bool is_like(const run::OperationResult& op, const run::MeasuredPair& pair) {
  return op.batch == 1 && pair.is_like(op.shape, op.dtype, op.pattern);
}

run::MeasuredGain measured_neighbours(const run::RunResult& result, const config::Architecture& architecture,
                                      const run::SimulationOptions& asked, const std::vector<Measurement>& rows) {
  run::MeasuredGain gain;
  std::vector<RowPair> like;
  std::vector<RowPair> pairs = pairs_of(rows);
  const auto elsewhere = [&](const RowPair& pair) { return !on_path(pair.sparse->launch, asked); };
  if (!std::all_of(pairs.begin(), pairs.end(), elsewhere)) {
    std::erase_if(pairs, elsewhere);  // else no pair took that path, and each says which it took
  }
  const std::vector<run::OperationResult>& operations = result.operations;
  std::vector<bool> has_pair(operations.size());
  for (const RowPair& pair : pairs) {
    const MeasuredLaunch& launch = pair.sparse->launch;
    bool any = false;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].speedup() &&
          is_like(operations[i], {launch.shape, launch.dtype, launch.sparsity(), {}, {}, {}})) {
        has_pair[i] = any = true;
      }
    }
    if (any) {
      like.push_back(pair);
    }
  }
  gain.layers = std::ranges::count_if(operations, [](const auto& op) { return op.speedup().has_value(); });
  gain.layers_like = std::ranges::count(has_pair, true);
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

ErrorsByDistance parse_errors_by_distance(std::string_view text, const std::string& file) {
  const nlohmann::json document = io::parse_json(text, file);
  const io::JsonObject root(document, {file, ""});
  root.allow_only({"description", "distances"});
  const io::JsonObject distances = root.object("distances");
  distances.allow_only(kKeys);
  ErrorsByDistance errors;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const io::JsonObject row = distances.object(kKeys[i]);
    row.allow_only({"boards", "pairs", "mean_error_percent"});
    const nlohmann::json& error = row.require("mean_error_percent");
    if (error.is_number() && error.get<double>() >= 0) {
      errors[i] = error.get<double>();
    } else if (!error.is_null()) {
      (row.place() / "mean_error_percent")
          .fail("must be a number from 0, or null where it is not known, not {}", io::describe(error));
    }
  }
  return errors;
}

EvidenceDistance evidence_distance(const run::RunResult& result, const config::Architecture& architecture) {
  return evidence_distance(types_of(result), architecture);
}

EvidenceDistance evidence_distance(const std::set<DataType>& types, const config::Architecture& architecture) {
  const MeasuredBoard own = as_measured(architecture);
  const bool own_design = architecture.gpu.fitted_design && !config::is_shipped(architecture);
  std::vector<MeasuredBoard> boards = own_design ? std::vector<MeasuredBoard>() : measured_boards();
  std::optional<EvidenceDistance> found;
  for (const DataType type : types) {
    EvidenceDistance distance;
    distance.type = type;
    distance.chip = own.chip;
    distance.generation = own.generation;
    distance.own_design = own_design;
    find_nearest(own, boards, distance);
    if (!found || distance.where > found->where) {
      found = std::move(distance);
    }
  }
  EvidenceDistance farthest = std::move(found).value_or(EvidenceDistance());
  if (!farthest.own_design) {
    constexpr std::uint64_t kMostBytes = 1 << 20;
    if (const auto file = evidence_file("distance.json")) {
      farthest.mean_error_percent =
          parse_errors_by_distance(io::read_text_file(*file, kMostBytes),
                                   io::printable(file->string()))[static_cast<std::size_t>(farthest.where)];
    }
  }
  return farthest;
}

}  // namespace sptc::check::times
