// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/engine.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/catalogue.h"
#include "sim/config/architecture.h"
#include "sim/config/evidence.h"
#include "sim/config/named_file.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sptc::run::network {
namespace {

using nlohmann::json;
using numerics::DataType;

constexpr std::array<std::string_view, 21> kKeys{
    "name",          "description",   "scope",   "launch",   "algorithm",    "host_us", "sparse_host_us",
    "sparse_result", "kernel_cycles", "tensors", "rules",    "libraries",    "wide",    "versions",
    "graph_tokens",  "types",         "sparse",  "quantize", "graph_passes", "step_us", "sequence_us"};
constexpr std::array<std::string_view, 5> kRuleKinds{"epilogue", "conv_epilogue", "attention", "chain", "siblings"};
constexpr std::array<std::string_view, 3> kValueKeys{"value", "evidence", "source"};
constexpr std::array<std::string_view, 2> kScopes{"network", "gemms"};
constexpr std::array<std::string_view, 2> kGraphPasses{"all", "decoding"};
constexpr std::array<std::string_view, 2> kSparseResults{"contiguous", "transposed"};
constexpr std::array<std::string_view, 5> kSparsePaths{"cutlass", "cusparselt", "marlin24", "tensorrt", kNoPath};
constexpr std::array<std::string_view, 2> kQuantisations{"fused", kOwnKernel};
constexpr double kMostOfNumber = 1e5;
constexpr std::int64_t kMostTokens = 1'000'000;

struct OtherName {
  std::string_view name, file;
};
// Names by which people call the software of a file that has another name.
constexpr std::array<OtherName, 7> kOtherNames{{{"torch", "pytorch"},
                                                {"torch-eager", "pytorch"},
                                                {"torch-compiled", "compiled"},
                                                {"torch-autocast", "pytorch-autocast"},
                                                {"trt", "tensorrt"},
                                                {"trtllm", "tensorrt-llm"},
                                                {"trt-llm", "tensorrt-llm"}}};

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
  object.each("operations",
              [&](const json& word, const io::JsonPlace& place) { kinds.insert(vector_kind(word, place)); });
  return kinds;
}

FusionRule read_rule(const io::JsonObject& object) {
  object.allow_only({"name", "fuse", "operations", "evidence", "source"});
  config::read_evidence(object);
  FusionRule rule;
  rule.name = object.text("name");
  object.require("fuse");
  rule.kind = static_cast<FusionRule::Kind>(object.choice("fuse", kRuleKinds, "unknown fusion"));
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
    (number.place() / "value").fail("must be a number from 0 to {}, not {}", kMostOfNumber, io::describe(value));
  }
  return value.get<double>();
}

/// A word with its evidence: {"value": "graph", "evidence": .., "source": ..}.
io::JsonObject word_with_evidence(const io::JsonObject& root, std::string_view key) {
  const io::JsonObject word = root.object(key);
  word.allow_only(kValueKeys);
  config::read_evidence(word);
  word.require("value");
  return word;
}

std::string read_word(const io::JsonObject& root, std::string_view key) {
  return word_with_evidence(root, key).text("value");
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
      (object.place() / operands / "value").fail("unknown type " + base::unknown_name(io::printable(word), names));
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

/// Whether `key` of `root` says the second of two `words`; false where it is absent.
bool says_second(const io::JsonObject& root, std::string_view key, std::span<const std::string_view> words,
                 std::string_view unknown) {
  return root.has(key) && word_with_evidence(root, key).choice("value", words, unknown) == 1;
}

std::filesystem::path path_of(const std::string& name_or_path) {
  return config::named_path(name_or_path, "engine", config::config_directories("engines"));
}

/// `document` over the engine that its "base" names: what it says goes before, null takes away.
json with_base(const json& document, const std::string& file) {
  if (!document.is_object() || !document.contains("base")) {
    return document;
  }
  const io::JsonObject root(document, {file, ""});
  json merged = root.parsed("base", [](const std::string& name) {
    if (config::is_path(name)) {
      throw base::InputError("must be the name of an engine, not a path");
    }
    json whole = config::read_named_file(name, path_of(name));
    if (whole.contains("base")) {
      throw base::InputError("must be an engine without a base");
    }
    return whole;
  });
  merged.merge_patch(document);
  merged.erase("base");
  return merged;
}

/// Sets the release: `asked`, or the newest that the file knows.
void set_version(const io::JsonObject& root, const std::string& asked, EngineSpec& engine) {
  if (!root.has("versions")) {
    if (!asked.empty()) {
      io::refuse("engine '{0}' has no versions: leave out '@{1}'", io::printable(engine.name), io::printable(asked));
    }
    return;
  }
  const io::JsonObject versions = root.object("versions");
  versions.allow_only({"from", "to", "evidence", "source"});
  config::read_evidence(versions);
  const auto bound = [&](std::string_view key, int absent) {
    const std::optional<Version> version = parse_version(versions.text(key), absent);
    if (!version) {
      (versions.place() / key).fail("must be a version such as \"0.18.1\"");
    }
    return *version;
  };
  const Version from = bound("from", 0);
  const Version to = bound("to", std::numeric_limits<int>::max());
  engine.version = asked.empty() ? versions.text("to") : asked;
  const Version version = parse_version(engine.version).value_or(Version());
  if (version < from || version > to) {
    io::refuse("engine '{}' knows the versions {} to {}, not {}", io::printable(engine.name), versions.text("from"),
               versions.text("to"), engine.version);
  }
}

/// Tokens of the largest pass that the release runs as a CUDA graph; nothing where nobody says.
std::optional<std::int64_t> read_graph_tokens(const io::JsonObject& root, const EngineSpec& engine) {
  if (!root.has("graph_tokens")) {
    return std::nullopt;
  }
  std::int64_t tokens = 0;
  root.each("graph_tokens", [&](const json& element, const io::JsonPlace& place) {
    const io::JsonObject row(element, place);
    row.allow_only({"value", "since", "until", "evidence", "source"});
    config::read_evidence(row);
    Offer offer;
    read_releases(row, !engine.version.empty(), offer);
    const std::int64_t value = row.integer("value", 1, kMostTokens);
    tokens = covers(offer, {engine.name, engine.version, "", 0}) ? value : tokens;
  });
  return tokens;
}

/// What the software has at the release of `engine`, and had or will have.
void read_software(const io::JsonObject& root, EngineSpec& engine) {
  const bool versioned = !engine.version.empty();
  engine.types = read_offers(root, "types", "", {}, versioned);
  engine.sparse = read_offers(root, "sparse", "path", kSparsePaths, versioned);
  engine.quantize = read_offers(root, "quantize", "how", kQuantisations, versioned);
}

EngineSpec read_engine(const json& document, const std::string& file, const std::string& version) {
  const io::JsonObject root(document, {file, ""});
  root.allow_only(kKeys);
  EngineSpec engine;
  engine.name = root.text("name");
  root.text("description");
  set_version(root, version, engine);
  engine.gemms_only = root.choice("scope", kScopes, "unknown scope") == 1;
  if (engine.gemms_only) {
    root.allow_only({"name", "description", "scope"});
    return engine;
  }
  engine.launch = kernels::parse_launch_mode((root.place() / "launch" / "value").pointer, read_word(root, "launch"));
  if (root.has("algorithm")) {
    engine.algorithm =
        kernels::parse_algorithm((root.place() / "algorithm" / "value").pointer, read_word(root, "algorithm"));
  }
  engine.host_us = read_number(root, "host_us");
  engine.sparse_host_us = root.has("sparse_host_us") ? read_number(root, "sparse_host_us") : engine.host_us;
  engine.sparse_transposed = says_second(root, "sparse_result", kSparseResults, "unknown layout");
  engine.kernel_cycles = read_number(root, "kernel_cycles");
  engine.step_us = read_number(root, "step_us");
  engine.sequence_us = read_number(root, "sequence_us");
  engine.graph_tokens = read_graph_tokens(root, engine);
  engine.graphs_decode_alone = says_second(root, "graph_passes", kGraphPasses, "unknown passes");
  read_software(root, engine);
  engine.tensors = read_tensors(root);
  engine.libraries = read_libraries(root);
  if (root.has("wide")) {
    const io::JsonObject wide = root.object("wide");
    wide.allow_only({"operations", "evidence", "source"});
    config::read_evidence(wide);
    engine.wide = read_operations(wide);
  }
  if (root.has("rules")) {
    root.each("rules", [&](const json& rule, const io::JsonPlace& place) {
      engine.rules.push_back(read_rule(io::JsonObject(rule, place)));
    });
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

namespace {

Installation installation(const EngineSpec& engine) {
  return {engine.name, engine.version, engine.board, engine.compute_capability};
}

struct AskedName {
  std::string name, version;
};

/// Takes "vllm@0.18" apart, and means by a usual name its file.
AskedName taken_apart(const std::string& asked) {
  AskedName result{asked, ""};
  const std::size_t at = asked.rfind('@');
  if (at != std::string::npos && parse_version(asked.substr(at + 1))) {
    result = {asked.substr(0, at), asked.substr(at + 1)};
  } else if (at != std::string::npos && !config::is_path(asked)) {
    io::refuse("engine '{}': behind '@' stands a version such as 0.18.1", io::printable(asked));
  }
  const auto* const found = std::ranges::find(kOtherNames, result.name, &OtherName::name);
  result.name = found == kOtherNames.end() ? result.name : std::string(found->file);
  return result;
}

}  // namespace

std::string EngineSpec::no_types(const workload::Operation& op) const {
  return refusal(types, "linear layers", operand_word(op), installation(*this));
}

std::string EngineSpec::no_sparse(const workload::Operation& op) const {
  return refusal(sparse, "2:4 kernels", operand_word(op), installation(*this));
}

const Offer* EngineSpec::quantisation(const workload::Operation& op) const {
  constexpr int kSixteen = 16;
  const auto between = tensors.find(op.dtype);
  const bool small = between != tensors.end() && numerics::storage_bits(between->second) < kSixteen;
  return !op.weight || op.conv || small || quantize.empty()
             ? nullptr
             : find_offer(quantize, operand_word(op), installation(*this));
}

EngineSpec parse_engine(std::string_view text, const std::string& file) {
  return read_engine(with_base(io::parse_json(text, file), file), file, "");
}

EngineSpec load_engine(const std::string& asked) {
  const auto [name, version] = taken_apart(asked);
  const std::filesystem::path path = path_of(name);
  const json document = with_base(config::read_named_file(name, path), path.string());
  return read_engine(document, path.string(), version);
}

EngineSpec on_board(EngineSpec engine, const gpu::GpuSpec& gpu) {
  engine.board = gpu.name;
  engine.compute_capability = mma::target_of_gpu(gpu.name, gpu.instruction_set).compute_capability();
  return engine;
}

EngineSpec for_pass(EngineSpec engine, const std::vector<workload::Operation>& gemms, std::int64_t sequences) {
  if (!engine.graph_tokens) {
    return engine;
  }
  std::int64_t tokens = 0;
  for (const workload::Operation& op : gemms) {
    tokens = op.weight && !op.conv ? std::max(tokens, op.shape.n) : tokens;
  }
  const bool decodes = tokens <= sequences;
  if (tokens <= *engine.graph_tokens && (decodes || !engine.graphs_decode_alone)) {
    engine.host_us = engine.sparse_host_us = 0;
  } else {
    engine.launch = kernels::LaunchMode::kStream;
  }
  return engine;
}

std::vector<std::string> engine_names() {
  return config::names_in(config::config_directories("engines"));
}

}  // namespace sptc::run::network
