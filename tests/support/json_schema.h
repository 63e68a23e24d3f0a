// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace sptc::support {

/// Checks values against the part of JSON Schema draft-07 that the schemas of the tree use.
class JsonSchema {
 public:
  explicit JsonSchema(nlohmann::json root) : root_(std::move(root)) {}

  /// What is wrong with `value`, with its JSON pointer; empty where nothing is.
  std::string fault(const nlohmann::json& value) const { return fault_of(root_, value, ""); }

 private:
  using json = nlohmann::json;

  static bool has_type(const std::string& type, const json& value) {
    return type == "object"    ? value.is_object()
           : type == "array"   ? value.is_array()
           : type == "string"  ? value.is_string()
           : type == "integer" ? value.is_number_integer()
           : type == "number"  ? value.is_number()
           : type == "boolean" ? value.is_boolean()
                               : value.is_null();
  }

  std::string fault_of(const json& schema, const json& value, const std::string& at) const {
    if (schema.contains("$ref")) {
      const std::string name = schema["$ref"].get<std::string>().substr(1);
      return fault_of(root_.at(json::json_pointer(name)), value, at);
    }
    if (schema.contains("anyOf")) {
      std::string last;
      for (const json& one : schema["anyOf"]) {
        last = fault_of(one, value, at);
        if (last.empty()) {
          return "";
        }
      }
      return last;
    }
    if (schema.contains("type") && !has_type(schema["type"], value)) {
      return at + ": no " + schema["type"].get<std::string>();
    }
    if ((schema.contains("const") && schema["const"] != value) ||
        (schema.contains("enum") && schema["enum"].type() == json::value_t::array &&
         std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())) {
      return at + ": not one of those allowed";
    }
    if ((schema.contains("minimum") && value < schema["minimum"]) ||
        (schema.contains("maximum") && value > schema["maximum"]) ||
        (schema.contains("exclusiveMinimum") && value <= schema["exclusiveMinimum"])) {
      return at + ": out of range";
    }
    return value.is_object()  ? fault_of_object(schema, value, at)
           : value.is_array() ? fault_of_array(schema, value, at)
                              : "";
  }

  std::string fault_of_object(const json& schema, const json& value, const std::string& at) const {
    for (const json& key : schema.value("required", json::array())) {
      if (!value.contains(key.get<std::string>())) {
        return at + ": lacks " + key.get<std::string>();
      }
    }
    const json properties = schema.value("properties", json::object());
    const json others = schema.value("additionalProperties", json(true));
    for (const auto& [key, inner] : value.items()) {
      std::string found;
      if (properties.contains(key)) {
        found = fault_of(properties[key], inner, at + "/" + key);
      } else if (others.is_object()) {
        found = fault_of(others, inner, at + "/" + key);
      } else if (!others.get<bool>()) {
        found = at + "/" + key + ": unknown key";
      }
      if (!found.empty()) {
        return found;
      }
    }
    return "";
  }

  std::string fault_of_array(const json& schema, const json& value, const std::string& at) const {
    if (value.size() < schema.value("minItems", std::size_t{0}) ||
        value.size() > schema.value("maxItems", value.size())) {
      return at + ": wrong number of elements";
    }
    for (std::size_t i = 0; schema.contains("items") && i < value.size(); ++i) {
      std::string found = fault_of(schema["items"], value[i], at + "/" + std::to_string(i));
      if (!found.empty()) {
        return found;
      }
    }
    return "";
  }

  json root_;
};

}  // namespace sptc::support
