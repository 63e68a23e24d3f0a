// SPDX-License-Identifier: Apache-2.0
#include "sim/check/times/evidence_distance.h"

#include "sim/check/times/measured_neighbours.h"
#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

namespace sptc::check::times {
namespace {

using numerics::DataType;
using run::EvidenceDistance;
using Where = EvidenceDistance::Where;

constexpr const char* kFolder = "evidence";
constexpr std::array<std::string_view, 4> kKeys{"board", "chip", "generation", "none"};

/// A board with measured pairs.
struct MeasuredBoard {
  std::string name, chip, generation;
  std::set<DataType> types = {};
  bool is_read = false;  ///< whether `types` are known
};

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
    const config::Architecture board = config::load_architecture(name);
    boards.push_back({name, config::chip_of_board(board), board.gpu.instruction_set});
  }
  return boards;
}

/// Measured boards, whose rows are read when they are asked for.
class Evidence {
 public:
  explicit Evidence(const config::Architecture& architecture)
      : own_{architecture.gpu.name, config::chip_of_board(architecture), architecture.gpu.instruction_set},
        own_design_(architecture.gpu.fitted_design && !config::is_shipped(architecture)),
        boards_(own_design_ ? std::vector<MeasuredBoard>() : measured_boards()) {}

  EvidenceDistance of(DataType type) {
    EvidenceDistance distance;
    distance.type = type;
    distance.chip = own_.chip;
    distance.generation = own_.generation;
    distance.own_design = own_design_;
    for (const Where where : {Where::kBoard, Where::kChip, Where::kGeneration}) {
      for (MeasuredBoard& board : boards_) {
        if (where_is(board) == where && read_types(board).contains(type)) {
          distance.boards.push_back(board.name);
        }
      }
      if (!distance.boards.empty()) {
        distance.where = where;
        break;
      }
    }
    return distance;
  }

 private:
  Where where_is(const MeasuredBoard& board) const {
    return board.name == own_.name                         ? Where::kBoard
           : !own_.chip.empty() && board.chip == own_.chip ? Where::kChip
           : board.generation == own_.generation           ? Where::kGeneration
                                                           : Where::kNone;
  }

  static const std::set<DataType>& read_types(MeasuredBoard& board) {
    if (!board.is_read) {
      board.types = types_of_pairs(evidence_of(board.name));
      board.is_read = true;
    }
    return board.types;
  }

  MeasuredBoard own_;
  bool own_design_;
  std::vector<MeasuredBoard> boards_;
};

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

ErrorsByDistance errors_by_distance() {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  for (const std::filesystem::path& directory : config::config_directories(kFolder)) {
    const std::filesystem::path file = directory / "distance.json";
    if (std::filesystem::is_regular_file(file)) {
      return parse_errors_by_distance(io::read_text_file(file, kMostBytes), io::printable(file.string()));
    }
  }
  return {};
}

}  // namespace

ErrorsByDistance parse_errors_by_distance(std::string_view text, const std::string& file) {
  constexpr std::array<std::string_view, 2> kRootKeys{"description", "distances"};
  constexpr std::array<std::string_view, 3> kRowKeys{"boards", "pairs", "mean_error_percent"};
  const nlohmann::json document = io::parse_json(text, file);
  const io::JsonObject root(document, {file, ""});
  root.allow_only(kRootKeys);
  const io::JsonObject distances = root.object("distances");
  distances.allow_only(kKeys);
  ErrorsByDistance errors;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const io::JsonObject row = distances.object(kKeys[i]);
    row.allow_only(kRowKeys);
    const nlohmann::json& error = row.require("mean_error_percent");
    if (error.is_number() && error.get<double>() >= 0) {
      errors[i] = error.get<double>();
    } else if (!error.is_null()) {
      (row.place() / "mean_error_percent")
          .fail("must be a number from 0, or null where it is not known, not " + io::describe(error));
    }
  }
  return errors;
}

EvidenceDistance evidence_distance(const run::RunResult& result, const config::Architecture& architecture) {
  return evidence_distance(types_of(result), architecture);
}

EvidenceDistance evidence_distance(const std::set<DataType>& types, const config::Architecture& architecture) {
  Evidence evidence(architecture);
  EvidenceDistance farthest;
  bool any = false;
  for (const DataType type : types) {
    EvidenceDistance distance = evidence.of(type);
    if (!any || distance.where > farthest.where) {
      farthest = std::move(distance);
      any = true;
    }
  }
  if (!farthest.own_design) {
    farthest.mean_error_percent = errors_by_distance()[static_cast<std::size_t>(farthest.where)];
  }
  return farthest;
}

}  // namespace sptc::check::times
