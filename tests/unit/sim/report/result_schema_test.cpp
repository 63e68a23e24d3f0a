// SPDX-License-Identifier: Apache-2.0
//
// configs/schema/result.schema.json says of a launch and of an operation what the lists of figures
// say. Run with SPTC_UPDATE_SCHEMA=1 to write these parts of the file anew.
#include "sim/io/text_file.h"
#include "sim/report/figures.h"
#include "sim/report/report.h"
#include "tests/support/json_schema.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>

namespace sptc::report {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFile = std::string(SPTC_SOURCE_DIR) + "/configs/schema/result.schema.json";

Json closed_object() {
  return {{"type", "object"}, {"additionalProperties", false}};
}

/// The object below `schema` that "a.b" leads to.
Json& object_at(Json& schema, const std::string& group) {
  if (group.empty()) {
    return schema;
  }
  const std::size_t dot = group.find('.');
  Json& inner = schema["properties"][group.substr(0, dot)];
  if (inner.is_null()) {
    inner = closed_object();
  }
  return dot == std::string::npos ? inner : object_at(inner, group.substr(dot + 1));
}

/// `unbounded`: an infinite number is written as null.
Json schema_of(const FigureValue& value, bool unbounded) {
  const char* const name = std::holds_alternative<std::int64_t>(value) ? "integer"
                           : std::holds_alternative<double>(value)     ? "number"
                           : std::holds_alternative<bool>(value)       ? "boolean"
                                                                       : "string";
  if (unbounded && std::holds_alternative<double>(value)) {
    return {{"anyOf", {{{"type", "number"}}, {{"type", "null"}}}}};
  }
  return {{"type", name}};
}

Json described(const FigureValue& value, std::string_view unit, std::string_view meaning,
               bool unbounded) {
  Json json = schema_of(value, unbounded);
  json["description"] = std::string(meaning) + (unit.empty() ? "" : " [" + std::string(unit) + "]");
  return json;
}

/// A group that JSON has as an array: its elements name their figure.
void add_listed(Json& schema, const std::string& group, const std::string& key) {
  const bool stalls = group == "explanation.stalls";
  Json& array = object_at(schema, "explanation")["properties"][stalls ? "stalls" : "what_if"];
  if (array.is_null()) {
    Json item = closed_object();
    if (stalls) {
      item["properties"] = {{"reason", {{"enum", Json::array()}}},
                            {"percent", {{"type", "number"}}}};
    } else {
      item["properties"] = {{"resource", {{"enum", Json::array()}}},
                            {"times", {{"const", 2}}},
                            {"speedup", {{"type", "number"}}}};
    }
    array = {{"type", "array"}, {"items", item}};
  }
  array["items"]["properties"][stalls ? "reason" : "resource"]["enum"].push_back(key);
}

template <typename Result>
void add_properties(const Figures<Result>& figures, const Result& whole, Json& schema) {
  for (const Figure<Result>& figure : figures) {
    const auto value = figure.value(whole);
    ASSERT_TRUE(value) << figure.path();
    if (figure.group == "explanation.stalls" || figure.group == "explanation.what_if") {
      add_listed(schema, figure.group, figure.key);
      continue;
    }
    const bool unbounded = figure.group == "check";
    object_at(schema, figure.group)["properties"][figure.key] =
        described(*value, figure.unit, figure.meaning, unbounded);
  }
}

/// What every launch has, also one that is not explained, not checked and without energies.
void add_required(const run::VariantResult& least, Json& schema) {
  visit_figures(launch_figures(), least, [&](const auto& figure, const FigureValue&) {
    object_at(schema, figure.group)["required"].push_back(figure.key);
    if (!figure.group.empty()) {
      Json& groups = schema["required"];
      if (groups.is_null() || groups.back() != figure.group) {
        groups.push_back(figure.group);
      }
    }
  });
}

Json variant_schema(const run::RunResult& whole) {
  Json schema = closed_object();
  for (const auto* const figures : variant_figures(true)) {
    add_properties(*figures, *whole.operations[0].sparse, schema);
  }
  run::VariantResult least = *whole.operations[0].sparse;
  least.runner_up.reset();
  least.traffic.activity.reset();
  least.energy.reset();
  least.check.reset();
  least.explanation = {};
  add_required(least, schema);
  return schema;
}

Json operation_schema(const run::RunResult& whole) {
  Json schema = closed_object();
  const run::OperationResult& op = whole.operations[0];
  add_properties(operation_figures(), op, schema);
  for (const Figure<run::OperationResult>& figure : operation_figures()) {
    schema["required"].push_back(figure.key);
  }
  for (const char* const variant : {"dense", "sparse", "dense_among_sparse"}) {
    schema["properties"][variant] = {
        {"anyOf", {{{"type", "null"}}, {{"$ref", "#/definitions/variant"}}}}};
  }
  schema["required"].push_back("dense");
  schema["required"].push_back("sparse");
  add_properties(comparison_figures(), op, schema);
  add_properties(sentence_figures(), op, schema);
  return schema;
}

Json total_schema(const run::RunResult& whole) {
  Json schema = closed_object();
  add_properties(total_figures(), *whole.totals.dense, schema);
  schema["properties"]["latency_us"] = {{"type", "number"}};
  schema["properties"]["inference"] = {{"$ref", "#/definitions/inference"}};
  schema["required"] = {"time_us", "tflops", "mismatches"};
  return schema;
}

TEST(ResultSchema, HasEveryFigure) {
  run::RunResult whole = whole_result();
  const Json present = Json::parse(io::read_text_file(kFile, 1 << 20));
  Json expected = present;
  expected["definitions"]["variant"] = variant_schema(whole);
  expected["definitions"]["operation"] = operation_schema(whole);
  expected["definitions"]["total"] = total_schema(whole);
  if (std::getenv("SPTC_UPDATE_SCHEMA") != nullptr) {
    std::ofstream(kFile) << expected.dump(2) << "\n";
    return;
  }
  EXPECT_EQ(present.dump(2), expected.dump(2));
}

TEST(ResultSchema, FitsReports) {
  const support::JsonSchema schema(nlohmann::json::parse(io::read_text_file(kFile, 1 << 20)));
  for (const run::RunResult& result : {whole_result(), synthetic_result(), with_energy()}) {
    EXPECT_EQ(schema.fault(nlohmann::json::parse(json_report(result))), "");
  }
}

}  // namespace
}  // namespace sptc::report
