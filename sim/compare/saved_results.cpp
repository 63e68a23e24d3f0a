// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/compare/comparison.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/run/what_if.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace sptc::compare {
namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 30;
constexpr std::string_view kSchema = "sptcsim-result/0.1";

/// A figure that a simulation can have had, else 0.
double number_or_zero(const nlohmann::json& object, const char* key) {
  constexpr double kMost = 1e15;
  const auto found = object.find(key);
  const double value = found != object.end() && found->is_number() ? found->get<double>() : 0;
  return value > 0 && value <= kMost ? value : 0;
}

/// Figures of `variant` of an operation or of the totals; nothing where it was not simulated.
ComparedVariant variant_of(const nlohmann::json& entry, const char* variant) {
  ComparedVariant figures;
  const auto found = entry.find(variant);
  if (found == entry.end() || !found->is_object()) {
    return figures;
  }
  figures.us = number_or_zero(*found, "time_us");
  figures.watts = number_or_zero(*found, "power_w");
  if (const auto energy = found->find("energy_uj"); energy != found->end()) {
    figures.uj = number_or_zero(*energy, "total");
  }
  if (const auto by = found->find("bound_by"); by != found->end() && by->is_string()) {
    const auto& names = run::kResourceNames;
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const run::ResourceName& one) { return one.report == by->get<std::string>(); });
    figures.bound = name == names.end() ? -1 : name - names.begin();
  }
  return figures;
}

/// A result as its file has it.
struct SavedResult {
  std::string workload;
  std::string engine;  ///< that ran more than GEMMs; else ""
  std::string made_by;
  std::optional<ComparedFigures> pass;  ///< of it
  ComparedPoint point;
  std::vector<std::string> names;  ///< of the operations of `point`
};

SavedResult read_result(const std::filesystem::path& file) {
  const std::string name = file.string();
  const nlohmann::json json = io::parse_json(io::read_text_file(file, kMostBytes), name);
  const io::JsonObject result(json, {name, ""});
  if (result.text("schema") != kSchema) {
    result.place().fail(
        fmt::format("is no saved result: 'run' and 'gemm' write one, of schema '{}', with --format json", kSchema));
  }
  SavedResult saved;
  saved.workload = result.text("workload");
  saved.point.board = result.text("arch");
  saved.point.file = name;
  const nlohmann::json& totals = result.object("totals").value();
  saved.point.total = figures_of(totals);
  saved.engine = result.text_or("engine", "");
  saved.made_by = result.text_or("made_by", "");
  saved.point.does_not_fit = result.text_or("does_not_fit", "");
  if (!saved.engine.empty() && saved.engine != "gemms") {
    saved.pass = figures_of_pass(totals);
  }
  std::size_t index = 0;
  for (const nlohmann::json& entry : result.array("operations")) {
    const io::JsonObject operation(entry, result.place() / "operations" / index++);
    saved.names.push_back(operation.text("name"));
    saved.point.operations.push_back(figures_of(entry));
  }
  if (saved.point.total.sparse.us == 0) {
    saved.point.no_sparse = name + " has no sparse figures";
  }
  if (saved.point.total.dense.uj == 0 && saved.point.total.sparse.uj == 0) {
    saved.point.no_energy = name + " has no energies";
  }
  return saved;
}

}  // namespace

ComparedFigures figures_of(const nlohmann::json& entry) {
  return {variant_of(entry, "dense"), variant_of(entry, "sparse"),
          number_or_zero(entry, "performance_per_watt_ratio_low"),
          number_or_zero(entry, "performance_per_watt_ratio_high")};
}

std::optional<ComparedFigures> figures_of_pass(const nlohmann::json& totals) {
  const auto read = [&](const char* variant) -> ComparedVariant {
    const auto found = totals.find(variant);
    if (found == totals.end() || !found->is_object() || !found->contains("latency_us")) {
      return {};
    }
    const nlohmann::json pass = found->value("inference", nlohmann::json::object());
    return {number_or_zero(*found, "latency_us"), number_or_zero(pass, "energy_uj"), number_or_zero(pass, "power_w")};
  };
  const ComparedFigures figures{read("dense"), read("sparse")};
  return figures.dense.us > 0 || figures.sparse.us > 0 ? std::optional(figures) : std::nullopt;
}

bool is_saved_result(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    return false;  // what is read of a pipe is gone
  }
  constexpr std::size_t kBeginning = 200;
  std::string beginning(kBeginning, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(beginning.data(), static_cast<std::streamsize>(kBeginning));
  return beginning.find('"' + std::string(kSchema) + '"') != std::string::npos;
}

BoardComparison compare_saved(const std::vector<std::filesystem::path>& files) {
  base::ensure(files.size() > 1, "one result has nothing beside it");
  std::vector<SavedResult> results;
  std::set<std::string> stems;
  for (const std::filesystem::path& file : files) {
    results.push_back(read_result(file));
    stems.insert(file.stem().string());
  }
  BoardComparison comparison;
  const auto has_pass = [](const SavedResult& result) { return result.pass.has_value(); };
  if (std::all_of(results.begin(), results.end(), has_pass)) {
    std::set<std::string> engines;
    for (SavedResult& result : results) {
      result.point.total = *result.pass;
      engines.insert(result.engine);
    }
    comparison.scope = fmt::format("one inference under engine '{}'", fmt::join(engines, "', '"));
  } else if (std::any_of(results.begin(), results.end(), has_pass)) {
    comparison.scope += ": not every result is of an engine";
  }
  std::set<std::string> workloads, makers;
  for (const SavedResult& result : results) {
    if (!result.made_by.empty() && makers.insert(result.made_by).second) {
      comparison.made_by += (comparison.made_by.empty() ? "" : " | ") + result.made_by;
    }
  }
  std::map<std::string, std::size_t> places;  // of operations: those of the first file, then what only others have
  for (const SavedResult& result : results) {
    for (const std::string& name : result.names) {
      if (places.try_emplace(name, places.size()).second) {
        comparison.operations.push_back(name);
      }
    }
  }
  for (SavedResult& result : results) {
    if (workloads.insert(result.workload).second) {
      comparison.workload += (comparison.workload.empty() ? "" : " | ") + result.workload;
    }
    ComparedPoint& point = comparison.points.emplace_back(std::move(result.point));
    std::vector<ComparedFigures> operations(places.size());  // nothing known of those that it lacks
    for (std::size_t i = result.names.size(); i-- > 0;) {    // of a name that stands twice the first counts
      operations[places.at(result.names[i])] = point.operations[i];
    }
    point.operations = std::move(operations);
    const std::filesystem::path file = point.file;
    point.dims = stems.size() == files.size() ? file.stem().string() : point.file;
  }
  return comparison;
}

}  // namespace sptc::compare
