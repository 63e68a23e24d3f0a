// SPDX-License-Identifier: Apache-2.0
#include "models/mma/step_rules.h"
#include "sim/config/architecture.h"
#include "sim/config/architecture_fields.h"
#include "sim/config/common_numbers.h"
#include "sim/config/derivation.h"
#include "sim/config/evidence.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>

namespace sptc::config {
namespace {

using nlohmann::ordered_json;

ordered_json text_schema(std::string_view description) {
  return {{"type", "string"}, {"minLength", 1}, {"description", description}};
}

ordered_json object_schema() {
  return {{"type", "object"},
          {"additionalProperties", false},
          {"required", ordered_json::array()},
          {"properties", ordered_json::object()}};
}

void add(ordered_json& object, std::string_view key, ordered_json schema) {
  object["required"].push_back(key);
  object["properties"][std::string(key)] = std::move(schema);
}

ordered_json number_schema(const ArchitectureField& field) {
  ordered_json value = {{"type", field.integer ? "integer" : "number"}};
  if (field.min() == std::floor(field.min())) {
    value["minimum"] = static_cast<std::int64_t>(field.min());
  } else {
    value["minimum"] = field.min();
  }
  value["maximum"] = static_cast<std::int64_t>(field.max);
  ordered_json schema = object_schema();
  schema["description"] = field.meaning;
  add(schema, "value", std::move(value));
  add(schema, "evidence", {{"enum", kEvidenceKinds}});
  add(schema, "source", text_schema("where the number comes from, or why it is assumed"));
  return schema;
}

void add_numbers(ordered_json& object, std::string_view section) {
  for (const ArchitectureField& field : architecture_fields()) {
    if (field.section == section) {
      add(object, field.key, number_schema(field));
      if (may_be_left_out(field)) {
        object["required"].erase(object["required"].size() - 1);
      }
    }
  }
}

ordered_json root_schema() {
  ordered_json tensor_core = object_schema();
  add_numbers(tensor_core, "/sm/tensor_core");

  ordered_json sm = object_schema();
  add_numbers(sm, "/sm");
  add(sm, "tensor_core", std::move(tensor_core));

  ordered_json root = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                       {"title", "sptcsim architecture"}};
  root.update(object_schema());
  add(root, "name", text_schema("name of the architecture"));
  root["properties"]["description"] = text_schema("free text");
  add(root, "numerics", {{"enum", mma::step_rule_sets()}});
  add_numbers(root, "");
  add(root, "sm", std::move(sm));

  ordered_json memory = object_schema();
  add_numbers(memory, "/memory");
  add(root, "memory", std::move(memory));

  ordered_json kernels = object_schema();
  add_numbers(kernels, "/kernels");
  add(kernels, "library",
      text_schema("the kernels of the GEMM library: a file of configs/libraries"));
  add(root, "kernels", std::move(kernels));
  return root;
}

/// Nothing of a section is required, but a section that is there changes something.
void relax(ordered_json& section) {
  section.erase("required");
  section["minProperties"] = 1;
  for (auto& [key, property] : section["properties"].items()) {
    if (property.contains("properties") && !property["properties"].contains("evidence")) {
      relax(property);
    }
  }
}

}  // namespace

std::string architecture_schema() {
  return root_schema().dump(2) + "\n";
}

std::string derived_architecture_schema() {
  ordered_json root = root_schema();
  relax(root);
  root["title"] = "sptcsim architecture derived from another";
  root["properties"]["base"] = text_schema(
      "a name of 'sptcsim arch list', or a path relative to this file; everything else here is "
      "what "
      "changes");
  root["properties"][std::string(kBoard)] = {
      {"const", true},
      {"description",
       "another board of the same chip: its library chooses kernels for it as for a file without a "
       "base"}};
  root["required"] = {"base", "name"};
  root["minProperties"] = 3;
  return root.dump(2) + "\n";
}

}  // namespace sptc::config
