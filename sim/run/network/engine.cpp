// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/engine.h"

#include "models/base/text.h"
#include "sim/config/architecture.h"
#include "sim/config/evidence.h"
#include "sim/config/named_file.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace sptc::run::network {
namespace {

using nlohmann::json;
using numerics::DataType;

constexpr std::array<std::string_view, 13> kKeys{
    "name",      "description",    "scope",         "launch",        "algorithm",
    "host_us",   "sparse_host_us", "sparse_result", "kernel_cycles", "tensors",
    "libraries", "rules",          "wide"};
constexpr std::array<std::string_view, 5> kRuleKeys{"name", "fuse", "operations", "evidence",
                                                    "source"};
// In the order of FusionRule::Kind.
constexpr std::array<std::string_view, 5> kRuleKinds{"epilogue", "conv_epilogue", "attention",
                                                     "chain", "siblings"};
constexpr std::array<std::string_view, 3> kValueKeys{"value", "evidence", "source"};
constexpr std::array<std::string_view, 2> kScopes{"network", "gemms"};
constexpr std::array<std::string_view, 2> kSparseResults{"contiguous", "transposed"};
constexpr double kMostOfNumber = 1e5;

/// The place of `word`, which stands at `place`, among `names`. Throws InputError.
std::size_t place_among(std::span<const std::string_view> names, const std::string& word,
                        const char* what, const io::JsonPlace& place) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    place.fail(fmt::format("unknown {} {}", what, base::unknown_name(io::printable(word), names)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

workload::VectorKind vector_kind(const json& word, const io::JsonPlace& place) {
  const std::vector<std::string_view> names = workload::vector_kind_names();
  const std::string text = word.is_string() ? word.get<std::string>() : io::describe(word);
  const std::optional<workload::VectorKind> kind = workload::parse_vector_kind(text);
  if (!kind) {
    place.fail("unknown operation " + base::unknown_name(io::printable(text), names));
  }
  return *kind;
}

std::set<workload::VectorKind> read_operations(const io::JsonObject& object) {
  std::set<workload::VectorKind> kinds;
  const json& operations = object.array("operations");
  for (std::size_t i = 0; i < operations.size(); ++i) {
    kinds.insert(vector_kind(operations[i], object.place() / "operations" / i));
  }
  return kinds;
}

FusionRule read_rule(const io::JsonObject& object) {
  object.allow_only(kRuleKeys);
  config::read_evidence(object);
  FusionRule rule;
  rule.name = object.text("name");
  rule.kind = static_cast<FusionRule::Kind>(
      place_among(kRuleKinds, object.text("fuse"), "fusion", object.place() / "fuse"));
  rule.operations = read_operations(object);
  return rule;
}

double read_number(const io::JsonObject& root, std::string_view key) {
  if (!root.has(key)) {
    return 0;
  }
  const io::JsonObject number = config::number_with_evidence(root, key);
  number.allow_only(kValueKeys);
  config::read_evidence(number);
  const json& value = number.require("value");
  if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= kMostOfNumber)) {
    (number.place() / "value")
        .fail(fmt::format("must be a number from 0 to {}, not {}", kMostOfNumber,
                          io::describe(value)));
  }
  return value.get<double>();
}

/// A word with its evidence: {"value": "graph", "evidence": .., "source": ..}.
std::string read_word(const io::JsonObject& root, std::string_view key) {
  const io::JsonObject word = root.object(key);
  word.allow_only(kValueKeys);
  config::read_evidence(word);
  return word.text("value");
}

std::map<DataType, DataType> read_tensors(const io::JsonObject& root) {
  std::map<DataType, DataType> tensors;
  if (!root.has("tensors")) {
    return tensors;
  }
  const io::JsonObject object = root.object("tensors");
  for (const auto& [operands, unused] : object.value().items()) {
    const auto type = numerics::parse_data_type(operands);
    const std::vector<std::string_view> names = numerics::operand_type_names();
    if (!type || !numerics::is_operand_type(*type)) {
      (object.place() / operands)
          .fail("unknown type of operands " + base::unknown_name(io::printable(operands), names));
    }
    const std::string word = read_word(object, operands);
    const auto between = numerics::parse_data_type(word);
    if (!between) {
      (object.place() / operands / "value")
          .fail("unknown type " + base::unknown_name(io::printable(word), names));
    }
    tensors[*type] = *between;
  }
  return tensors;
}

std::map<std::string, std::string> read_libraries(const io::JsonObject& root) {
  std::map<std::string, std::string> libraries;
  if (root.has("libraries")) {
    const io::JsonObject object = root.object("libraries");
    for (const auto& [instruction_set, unused] : object.value().items()) {
      libraries[instruction_set] = object.text(instruction_set);
    }
  }
  return libraries;
}

/// Whether 2:4 kernels leave their results transposed.
bool read_sparse_result(const io::JsonObject& root) {
  if (!root.has("sparse_result")) {
    return false;
  }
  return place_among(kSparseResults, read_word(root, "sparse_result"), "layout",
                     root.place() / "sparse_result" / "value") == 1;
}

EngineSpec read_engine(const json& document, const std::string& file) {
  const io::JsonObject root(document, {file, ""});
  root.allow_only(kKeys);
  EngineSpec engine;
  engine.name = root.text("name");
  root.text("description");
  engine.gemms_only = place_among(kScopes, root.text_or("scope", kScopes.front()), "scope",
                                  root.place() / "scope") == 1;
  if (engine.gemms_only) {
    constexpr std::array<std::string_view, 3> kOfGemms{"name", "description", "scope"};
    root.allow_only(kOfGemms);
    return engine;
  }
  engine.launch = kernels::parse_launch_mode((root.place() / "launch" / "value").pointer,
                                             read_word(root, "launch"));
  if (root.has("algorithm")) {
    engine.algorithm = kernels::parse_algorithm((root.place() / "algorithm" / "value").pointer,
                                                read_word(root, "algorithm"));
  }
  engine.host_us = read_number(root, "host_us");
  engine.sparse_host_us =
      root.has("sparse_host_us") ? read_number(root, "sparse_host_us") : engine.host_us;
  engine.sparse_transposed = read_sparse_result(root);
  engine.kernel_cycles = read_number(root, "kernel_cycles");
  engine.tensors = read_tensors(root);
  engine.libraries = read_libraries(root);
  if (root.has("wide")) {
    const io::JsonObject wide = root.object("wide");
    constexpr std::array<std::string_view, 3> kWideKeys{"operations", "evidence", "source"};
    wide.allow_only(kWideKeys);
    config::read_evidence(wide);
    engine.wide = read_operations(wide);
  }
  if (root.has("rules")) {
    const json& rules = root.array("rules");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      engine.rules.push_back(read_rule(io::JsonObject(rules[i], root.place() / "rules" / i)));
    }
  }
  return engine;
}

}  // namespace

const FusionRule* EngineSpec::rule(FusionRule::Kind kind, workload::VectorKind operation) const {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const FusionRule& row) {
    return row.kind == kind && row.operations.contains(operation);
  });
  return found == rules.end() ? nullptr : &*found;
}

const FusionRule* EngineSpec::attention() const {
  return rule(FusionRule::Kind::kAttention, workload::VectorKind::kSoftmax);
}

EngineSpec parse_engine(std::string_view text, const std::string& file) {
  return read_engine(io::parse_json(text, file), file);
}

EngineSpec load_engine(const std::string& name_or_path) {
  const std::filesystem::path path =
      config::named_path(name_or_path, "engine", config::config_directories("engines"));
  return read_engine(config::read_named_file(name_or_path, path), path.string());
}

std::vector<std::string> engine_names() {
  return config::names_in(config::config_directories("engines"));
}

}  // namespace sptc::run::network
