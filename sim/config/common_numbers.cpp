// SPDX-License-Identifier: Apache-2.0
#include "sim/config/common_numbers.h"

#include "sim/config/architecture.h"
#include "sim/config/named_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sptc::config {
namespace {

using nlohmann::json;

json::json_pointer pointer_of(std::string_view text) {
  return json::json_pointer(std::string(text));
}

json::json_pointer pointer_of(const ArchitectureField& field) {
  return pointer_of(field.section) / std::string(field.key);
}

/// Throws where `section` has anything but numbers of architectures, each with its evidence.
void check(const json& section, const io::JsonPlace& place) {
  const io::JsonObject object(section, place);
  for (const auto& [key, inner] : section.items()) {
    const std::string path = (place / key).pointer;
    const auto fields = architecture_fields();
    const bool is_section = std::ranges::any_of(fields, [&](const ArchitectureField& candidate) {
      return candidate.section == path ||
             (candidate.section.starts_with(path) && candidate.section[path.size()] == '/');
    });
    if (const ArchitectureField* const field = find_architecture_field(path)) {
      read_number(object, *field);
    } else if (is_section) {
      check(inner, place / key);
    } else if (!place.pointer.empty() || key != "description") {
      (place / key).fail("is no number of an architecture");
    }
  }
}

/// Refuses a refresh without its interval, or the other way: the two describe one kind of DRAM.
void check_refresh(const json& document, const io::JsonPlace& root) {
  constexpr std::string_view kTime = "dram_refresh_ns";
  constexpr std::string_view kInterval = "dram_refresh_interval_ns";
  const auto memory = document.find("memory");
  if (memory == document.end() || !memory->is_object() || memory->contains(kTime) == memory->contains(kInterval)) {
    return;
  }
  const bool has_time = memory->contains(kTime);
  (root / "memory")
      .fail("has {} without {}: give both, or neither to take those of HBM2 that all GPUs share",
            has_time ? kTime : kInterval, has_time ? kInterval : kTime);
}

json read_common(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "common" / "architecture.json";
  json document = read_named_file(path.string(), path);
  check(document, {path.string(), ""});
  check_refresh(document, {path.string(), ""});
  return document;
}

/// The value of the number at `pointer`; nothing where the reader will complain of it.
std::optional<double> value_at(const json& document, std::string_view pointer) {
  const json::json_pointer value = pointer_of(pointer) / "value";
  if (!document.contains(value) || !document[value].is_number()) {
    return std::nullopt;
  }
  const double number = document[value].get<double>();
  const ArchitectureField& field = *find_architecture_field(pointer);
  return number >= field.min() && number <= field.max ? std::optional(number) : std::nullopt;
}

/// Adds the width of the selector, which feeds every multiplier every cycle, where it is left out.
void add_selector(json& document, const std::string& file) {
  constexpr std::string_view kUnits = "/sm/tensor_core/dot_units";
  const ArchitectureField& field = *find_architecture_field("/sm/tensor_core/selector_bytes_per_cycle");
  const json::json_pointer place = pointer_of(field);
  const json::json_pointer section = place.parent_pointer();
  if (!document.contains(section) || !document[section].is_object() || document.contains(place)) {
    return;
  }
  const std::optional<double> units = value_at(document, kUnits);
  const std::optional<double> bytes = value_at(document, "/sm/tensor_core/dot_width_bytes");
  // The reader alone complains of a number that is none.
  const double value = units && bytes ? *units * *bytes : field.min();
  if (value > field.max) {
    io::JsonPlace{file, std::string(kUnits)}.fail(
        "{} x dot_width_bytes {} makes {} {}, more than {}: lower one of the two, or give {} a number of its own",
        *units, *bytes, field.key, value, field.max, field.key);
  }
  document[place] = {{"value", value},
                     {"evidence", "derived"},
                     {"source",
                      "dot_units x dot_width_bytes of the design that the file or its base began with: the selector "
                      "feeds every multiplier every cycle"}};
}

}  // namespace

json read_common_numbers() {
  json common = read_common(shipped_config_directory());
  const std::filesystem::path own = config_directory();
  if (own == shipped_config_directory() || !std::filesystem::exists(own / "common" / "architecture.json")) {
    return common;
  }
  const json numbers = read_common(own);
  for (const ArchitectureField& field : architecture_fields()) {
    const json::json_pointer pointer = pointer_of(field);
    if (numbers.contains(pointer)) {
      common[pointer] = numbers[pointer];
    }
  }
  return common;
}

json with_common_numbers(json document, const json& common, const std::string& file) {
  if (!document.is_object()) {
    return document;
  }
  check_refresh(document, {file, ""});
  for (const ArchitectureField& field : architecture_fields()) {
    const json::json_pointer section = pointer_of(field.section);
    const json::json_pointer number = pointer_of(field);
    if (document.contains(section) && document[section].is_object() && !document.contains(number) &&
        common.contains(number)) {
      document[number] = common[number];
    }
  }
  add_selector(document, file);
  return document;
}

}  // namespace sptc::config
