// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture.h"

#include "models/mma/step_rules.h"
#include "sim/config/architecture_consistency.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/board_names.h"
#include "sim/config/derivation.h"
#include "sim/config/documented_architecture.h"
#include "sim/config/evidence.h"
#include "sim/config/kernel_library.h"
#include "sim/config/named_file.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace sptc::config {
namespace {

using nlohmann::json;

std::vector<std::string_view> keys_of(std::string_view section) {
  std::vector<std::string_view> keys;
  if (section.empty()) {
    keys = {"chip", "description", "kernels", "memory", "name", "numerics", "sm"};
  } else if (section == "/sm") {
    keys = {"tensor_core"};
  } else if (section == "/kernels") {
    keys = {"library"};
  }
  for (const ArchitectureField& field : architecture_fields()) {
    if (field.section == section) {
      keys.push_back(field.key);
    }
  }
  return keys;
}

bool allowed(double number, const ArchitectureField& field) {
  const bool whole = number == std::floor(number);
  return number >= field.min() && number <= field.max && (whole || !field.integer);
}

double read_value(const json& value, const io::JsonPlace& place, const ArchitectureField& field) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!allowed(number, field)) {
    place.fail("must be a {} from {} to {}, not {}", field.integer ? "whole number" : "number", field.min(), field.max,
               io::describe(value));
  }
  return number;
}

/// Fills `result` with the numbers of `section`; of those that are absent or malformed `errors`
/// say so.
void read_section(const io::JsonObject& object, std::string_view section, Architecture& result, ErrorList& errors) {
  check_keys(object, keys_of(section), errors);
  for (const ArchitectureField& field : architecture_fields()) {
    if (field.section == section) {
      errors.collect([&] {
        result.parameters.push_back(read_number(object, field));
        field.store(result.gpu, result.parameters.back().value);
      });
    }
  }
}

/// What the file says, and `errors` of what it lacks or has wrong.
Architecture read_file(const io::JsonObject& root, ErrorList& errors) {
  if (!root.has("numerics") && !root.has("sm") && !root.has("memory")) {
    root.place().fail("no architecture: neither numerics nor sm nor memory is there, nor a base");
  }
  Architecture result;
  errors.collect([&] { result.gpu.name = root.text("name"); });
  errors.collect([&] { root.text_or("description", ""); });
  errors.collect([&] { result.chip = root.text_or("chip", ""); });
  errors.collect([&] {
    root.require("numerics");
    const std::vector<std::string_view> known = mma::step_rule_sets();
    result.gpu.numerics = result.gpu.instruction_set = known[root.choice("numerics", known, "unknown numerics")];
  });
  read_section(root, "", result, errors);
  errors.collect([&] {
    const io::JsonObject sm = root.object("sm");
    read_section(sm, "/sm", result, errors);
    read_section(sm.object("tensor_core"), "/sm/tensor_core", result, errors);
  });
  errors.collect([&] { read_section(root.object("memory"), "/memory", result, errors); });
  errors.collect([&] {
    const io::JsonObject kernels = root.object("kernels");
    read_section(kernels, "/kernels", result, errors);
    const io::JsonPlace place = kernels.place() / "library";
    result.gpu.kernels =
        load_kernel_library(kernels.text("library"), fmt::format("{}: {}", io::printable(place.file), place.pointer));
  });
  return result;
}

DocumentedArchitecture completed(json document, const std::string& file) {
  std::vector<std::string> bases;
  DocumentedArchitecture result;
  result.document = complete_architecture(std::move(document), file, &bases);
  result.value = to_architecture(result.document, file);
  result.value.bases = std::move(bases);
  return result;
}

ArchitectureText completed_text(json document, const std::string& file) {
  ArchitectureText result{"", file, {}};
  const json complete = complete_architecture(std::move(document), file, &result.bases);
  result.document = complete.dump(-1, ' ', false, json::error_handler_t::replace);
  return result;
}

}  // namespace

Parameter read_number(const io::JsonObject& section, const ArchitectureField& field) {
  const io::JsonObject number = number_with_evidence(section, field.key);
  number.allow_only({"value", "evidence", "source"});
  Parameter result;
  result.pointer = number.place().pointer;
  result.unit = unit_of(field.key);
  result.value = read_value(number.require("value"), number.place() / "value", field);
  const Evidence evidence = read_evidence(number);
  result.evidence = evidence.kind;
  result.source = evidence.source;
  return result;
}

Architecture parse_architecture(std::string_view text, const std::string& file) {
  return completed(io::parse_json(text, file), file).value;
}

ArchitectureText complete_architecture_text(std::string_view text, const std::string& file) {
  return completed_text(io::parse_json(text, file), file);
}

Architecture to_architecture(const ArchitectureText& text) {
  Architecture result = to_architecture(io::parse_json(text.document, text.file), text.file);
  result.bases = text.bases;
  return result;
}

Architecture to_architecture(const json& document, const std::string& file) {
  if (document.is_object() && document.contains(kFittedDesign)) {
    json design = document;
    const json fitted = std::move(design[std::string(kFittedDesign)]);
    design.erase(std::string(kFittedDesign));
    Architecture result = to_architecture(design, file);
    result.gpu.fitted_design = std::make_shared<const gpu::GpuSpec>(to_architecture(fitted, file).gpu);
    return result;
  }
  const io::JsonObject root(document, {file, ""});
  ErrorList errors;
  Architecture result = read_file(root, errors);
  errors.throw_if_any();
  check_consistency(result.gpu, root.place(), errors);
  errors.throw_if_any();
  return result;
}

const Architecture* VariedArchitecture::with(std::span<const std::pair<std::string, double>> numbers,
                                             std::string_view source) {
  if (!changed_.empty()) {
    varied_.gpu = base_.gpu;
  }
  for (const std::size_t index : std::exchange(changed_, {})) {
    varied_.parameters[index] = base_.parameters[index];
  }
  for (const auto& [pointer, value] : numbers) {
    const ArchitectureField* const field = find_architecture_field(pointer);
    const auto parameter = std::ranges::find(varied_.parameters, pointer, &Parameter::pointer);
    if (field == nullptr || parameter == varied_.parameters.end() || !allowed(value, *field)) {
      return nullptr;
    }
    if (parameter->value != value) {
      changed_.push_back(static_cast<std::size_t>(parameter - varied_.parameters.begin()));
      field->store(varied_.gpu, value);
      parameter->value = value;
      parameter->evidence = "assumed";
      parameter->source = source;
    }
  }
  ErrorList errors;
  check_consistency(varied_.gpu, {"", ""}, errors);
  return errors.empty() ? &varied_ : nullptr;
}

Architecture load_architecture(const std::string& name_or_path) {
  const std::filesystem::path path = architecture_path(name_or_path);
  return completed(read_named_file(name_or_path, path), path.string()).value;
}

DocumentedArchitecture load_documented_architecture(const std::string& name_or_path) {
  const std::filesystem::path path = architecture_path(name_or_path);
  DocumentedArchitecture result = completed(read_named_file(name_or_path, path), path.string());
  if (!result.document.contains(kFittedDesign)) {
    json origin = result.document;
    result.document[std::string(kFittedDesign)] = std::move(origin);
  }
  return result;
}

ArchitectureText load_architecture_text(const std::string& name_or_path) {
  const std::filesystem::path path = architecture_path(name_or_path);
  return completed_text(read_named_file(name_or_path, path), path.string());
}

std::filesystem::path architecture_path(const std::string& name_or_path) {
  return board_path(name_or_path, "architecture", config_directories("", "mig"));
}

std::vector<std::string> architecture_names() {
  return names_in(config_directories("", "mig"));
}

std::filesystem::path config_directory() {
  const char* const directory = std::getenv("SPTCSIM_CONFIG_DIR");
  if (directory == nullptr || *directory == '\0') {
    return shipped_config_directory();
  }
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    io::refuse("SPTCSIM_CONFIG_DIR: there is no directory '{}'", io::printable(directory));
  }
  return directory;
}

namespace {

/// The directory of set_shipped_config_directory(); empty: none was set.
std::filesystem::path& set_directory() {
  static std::filesystem::path directory;
  return directory;
}

/// Numbers of the architecture called `name`, read once; nothing where there is none.
const std::optional<Architecture>& shipped_architecture(const std::string& name) {
  // What was read holds for as long as the directory has the same name: it is asked for at each
  // run.
  struct Known {
    std::string directory;
    std::map<std::string, std::optional<Architecture>> architectures;
  };
  thread_local Known known_here;
  auto& [directory, known] = known_here;
  const char* const set = std::getenv("SPTCSIM_CONFIG_DIR");
  if (const std::string_view now = set == nullptr ? "" : set; now != directory) {
    directory = now;
    known.clear();
  }
  const auto [found, added] = known.try_emplace(name);
  const std::vector<std::string> names = added ? architecture_names() : std::vector<std::string>();
  if (std::binary_search(names.begin(), names.end(), name)) {
    found->second = load_architecture(name);
  }
  return found->second;
}

}  // namespace

bool is_shipped(const Architecture& architecture) {
  const std::optional<Architecture>& shipped = shipped_architecture(architecture.gpu.name);
  const auto same = [](const Parameter& left, const Parameter& right) {
    return left.value == right.value && left.pointer == right.pointer;
  };
  return shipped && shipped->gpu.numerics == architecture.gpu.numerics &&
         std::equal(shipped->parameters.begin(), shipped->parameters.end(), architecture.parameters.begin(),
                    architecture.parameters.end(), same);
}

void set_shipped_config_directory(std::filesystem::path directory) {
  set_directory() = std::move(directory);
}

std::filesystem::path shipped_config_directory() {
  if (!set_directory().empty()) {
    return set_directory();
  }
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  auto installed = program.parent_path().parent_path() / "share" / "sptcsim" / "configs";
  return std::filesystem::is_directory(installed, error) ? installed : SPTC_CONFIG_DIR;
}

std::vector<std::filesystem::path> config_directories(std::string_view folder, std::string_view second) {
  const std::filesystem::path own = config_directory(), shipped = shipped_config_directory();
  std::vector<std::filesystem::path> directories;
  const auto add = [&](std::string_view name) {
    directories.push_back(name.empty() ? own : own / name);
    if (own != shipped) {
      directories.push_back(name.empty() ? shipped : shipped / name);
    }
  };
  add(folder);
  if (!second.empty()) {
    add(second);
  }
  return directories;
}

}  // namespace sptc::config
