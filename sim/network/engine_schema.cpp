// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/config/evidence.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/network/engine_words.h"

#include <nlohmann/json.hpp>

namespace sptc::network {
namespace {

using nlohmann::ordered_json;

ordered_json text_schema() {
  return {{"type", "string"}, {"minLength", 1}};
}

/// An object with a value, its evidence and its source.
ordered_json with_evidence(ordered_json value) {
  return {{"type", "object"},
          {"additionalProperties", false},
          {"required", {"value", "evidence", "source"}},
          {"properties",
           {{"value", std::move(value)},
            {"evidence", {{"enum", config::kEvidenceKinds}}},
            {"source", text_schema()}}}};
}

ordered_json operations_schema() {
  const ordered_json kinds = workload::vector_kind_names();
  return {{"type", "array"}, {"minItems", 1}, {"items", {{"enum", kinds}}}};
}

ordered_json rule_schema() {
  return {{"type", "object"},
          {"additionalProperties", false},
          {"required", {"name", "fuse", "operations", "evidence", "source"}},
          {"properties",
           {{"name", text_schema()},
            {"fuse", {{"enum", rule_kind_names()}}},
            {"operations", operations_schema()},
            {"evidence", {{"enum", config::kEvidenceKinds}}},
            {"source", text_schema()}}}};
}

}  // namespace

std::string engine_schema() {
  const ordered_json host = {
      {"type", "number"}, {"minimum", 0}, {"maximum", static_cast<int>(kMostOfNumber)}};
  const ordered_json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "sptcsim engine"},
      {"type", "object"},
      {"additionalProperties", false},
      {"required", {"name", "description"}},
      {"properties",
       {{"name", text_schema()},
        {"description", text_schema()},
        {"scope", {{"enum", kScopes}}},
        {"launch", with_evidence({{"enum", kernels::launch_mode_names()}})},
        {"algorithm", with_evidence({{"enum", kernels::algorithm_names()}})},
        {"host_us", with_evidence(host)},
        {"sparse_host_us", with_evidence(host)},
        {"sparse_result", with_evidence({{"enum", kSparseResults}})},
        {"kernel_cycles", with_evidence(host)},
        {"tensors",
         {{"type", "object"},
          {"propertyNames", {{"enum", ordered_json(numerics::operand_type_names())}}},
          {"additionalProperties", with_evidence(text_schema())}}},
        {"libraries", {{"type", "object"}, {"additionalProperties", text_schema()}}},
        {"rules", {{"type", "array"}, {"items", rule_schema()}}},
        {"wide",
         {{"type", "object"},
          {"additionalProperties", false},
          {"required", {"operations", "evidence", "source"}},
          {"properties",
           {{"operations", operations_schema()},
            {"evidence", {{"enum", {"measured", "cited", "derived", "assumed"}}}},
            {"source", text_schema()}}}}}}}};
  return schema.dump(2) + "\n";
}

}  // namespace sptc::network
