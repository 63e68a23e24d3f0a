// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/config/energy.h"
#include "sim/config/energy_fields.h"
#include "sim/config/evidence.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace sptc::config {
namespace {

using nlohmann::ordered_json;

ordered_json object_schema() {
  return {{"type", "object"}, {"additionalProperties", false}};
}

/// A number with its evidence; an assumed one has a range.
ordered_json number_definition(double max, bool zero, bool on_chip) {
  const ordered_json value = {
      {"type", "number"}, {zero ? "minimum" : "exclusiveMinimum", 0}, {"maximum", max}};
  ordered_json schema = object_schema();
  schema["required"] = {"value", "evidence", "source"};
  ordered_json& properties = schema["properties"];
  properties["value"] = value;
  properties["range"] = {{"type", "array"}, {"items", value}, {"minItems", 2}, {"maxItems", 2}};
  if (on_chip) {
    schema["required"].push_back("node_nm");
    properties["node_nm"] = {{"type", "integer"}, {"minimum", 1}, {"maximum", 1000}};
  }
  properties["evidence"] = {{"enum", kEvidenceKinds}};
  properties["source"] = {{"type", "string"}, {"minLength", 1}};
  schema["if"] = {{"properties", {{"evidence", {{"const", "assumed"}}}}}};
  schema["then"] = {{"required", {"range"}}};
  return schema;
}

/// Refers to the definition of such a number, which it adds where it is new.
ordered_json number_schema(double max, bool zero, bool on_chip, ordered_json& definitions) {
  const std::string name =
      fmt::format("{}_{}_to_{}", on_chip ? "on_chip" : "number", zero ? "from_0" : "above_0", max);
  if (!definitions.contains(name)) {
    definitions[name] = number_definition(max, zero, on_chip);
  }
  return {{"$ref", "#/definitions/" + name}};
}

ordered_json field_schema(const EnergyField& field, ordered_json& definitions) {
  ordered_json number =
      number_schema(field.max, field.zero, field.scaling.has_value(), definitions);
  if (!field.by_type) {
    return number;
  }
  ordered_json types = object_schema();
  types["minProperties"] = 1;
  for (const std::string_view type : numerics::operand_type_names()) {
    types["properties"][std::string(type)] = number;
  }
  return types;
}

ordered_json scaling_schema(ordered_json& definitions) {
  ordered_json node = object_schema();
  for (const char* kind : {"logic", "sram", "wire", "area"}) {
    node["properties"][kind] = number_schema(kMaxScale, false, false, definitions);
  }
  ordered_json nodes = object_schema();
  nodes["patternProperties"]["^[0-9]{1,3}$"] = node;
  return nodes;
}

}  // namespace

std::string energy_schema() {
  ordered_json root = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                       {"title", "sptcsim energies"}};
  root.update(object_schema());
  root["required"] = {"name", "node_nm"};
  ordered_json properties = ordered_json::object();
  properties["name"] = {{"type", "string"}, {"minLength", 1}};
  properties["description"] = {{"type", "string"}, {"minLength", 1}};
  properties["node_nm"] = {{"type", "integer"}, {"minimum", 1}, {"maximum", 1000}};
  ordered_json definitions = ordered_json::object();
  properties["node_scaling"] = scaling_schema(definitions);
  for (const EnergyField& field : energy_fields()) {
    const std::string section = field.section.empty() ? "" : field.section.substr(1);
    if (section.empty()) {
      root["required"].push_back(field.key);
      properties[field.key] = field_schema(field, definitions);
      continue;
    }
    if (!properties.contains(section)) {
      root["required"].push_back(section);
      properties[section] = object_schema();
      properties[section]["required"] = ordered_json::array();
    }
    if (!field.optional) {
      properties[section]["required"].push_back(field.key);
    }
    properties[section]["properties"][field.key] = field_schema(field, definitions);
  }
  root["properties"] = std::move(properties);
  root["definitions"] = std::move(definitions);
  return root.dump(2) + "\n";
}

}  // namespace sptc::config
