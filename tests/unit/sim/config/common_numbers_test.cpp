// SPDX-License-Identifier: Apache-2.0
#include "sim/config/common_numbers.h"

#include "sim/config/architecture.h"
#include "sim/config/derivation.h"
#include "sim/io/text_file.h"
#include "tests/support/environment.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

namespace sptc::config {
namespace {

using nlohmann::json;

const std::string kConfigs = std::string(SPTC_SOURCE_DIR) + "/configs/";

json read(const std::string& file) {
  return json::parse(io::read_text_file(kConfigs + file, 1 << 20));
}

json number(double value) {
  return {{"value", value}, {"evidence", "assumed"}, {"source", "a test"}};
}

json completed(const json& document) {
  return with_common_numbers(document, read_common_numbers(), "x.json");
}

json::json_pointer pointer_of(const ArchitectureField& field) {
  return json::json_pointer(std::string(field.section) + "/" + std::string(field.key));
}

TEST(CommonNumbers, AreThoseOfTheFileWithTheirEvidence) {
  const json common = read("common/architecture.json");
  json document = read("a100-sxm4-80gb.json");
  ASSERT_FALSE(document["sm"].contains("barrier_latency_cycles"));
  document["memory"]["sm_port_bytes_per_cycle"] = number(32);
  const json complete = completed(document);
  EXPECT_EQ(complete["sm"]["barrier_latency_cycles"], common["sm"]["barrier_latency_cycles"]);
  EXPECT_EQ(complete["memory"]["sm_port_bytes_per_cycle"], number(32)) << "the file's own stays";
  EXPECT_EQ(complete["memory"]["l2_capacity_bytes"], document["memory"]["l2_capacity_bytes"]);
}

TEST(CommonNumbers, FollowFromWhatTheFileSays) {
  json document = read("a100-sxm4-80gb.json");
  document["sm"]["tensor_core"]["dot_units"] = number(64);
  document["memory"]["sm_port_bytes_per_cycle"] = number(32);
  const json complete = completed(document);
  EXPECT_EQ(complete["sm"]["tensor_core"]["selector_bytes_per_cycle"]["value"], 64 * 16);
  EXPECT_EQ(complete["sm"]["tensor_core"]["selector_bytes_per_cycle"]["evidence"], "derived");
}

TEST(CommonNumbers, StayThoseOfTheBaseUntilNullAsksForThemAnew) {
  json design{{"base", "a100-sxm4-80gb"},
              {"name", "x"},
              {"sm", {{"tensor_core", {{"dot_units", number(64)}, {"f32_dot_units", number(64)}}}}}};
  const auto selector = [&] {
    return parse_architecture(design.dump(), "x.json").gpu.sm.tensor_core.selector_bytes_per_cycle;
  };
  EXPECT_EQ(selector(), 512);
  design["sm"]["tensor_core"]["selector_bytes_per_cycle"] = nullptr;
  EXPECT_EQ(selector(), 1024);
}

// Of what follows the user wrote nothing: the message is about what he did write.
TEST(CommonNumbers, ThatWouldFollowFromFactorsTooLargeTogetherNameThem) {
  json design{{"base", "a100-sxm4-80gb"}, {"name", "x"}};
  json& core = design["sm"]["tensor_core"];
  core = {{"dot_units", number(4096)}, {"dot_width_bytes", number(512)}, {"selector_bytes_per_cycle", nullptr}};
  const auto message = [&] { return support::input_error_of([&] { parse_architecture(design.dump(), "x.json"); }); };
  EXPECT_EQ(message(),
            "x.json: /sm/tensor_core/dot_units: 4096 x dot_width_bytes 512 makes "
            "selector_bytes_per_cycle 2097152, more than 1048576: lower one of the two, or give "
            "selector_bytes_per_cycle a number of its own");
  core["dot_width_bytes"] = number(5000);
  EXPECT_EQ(message(),
            "x.json: /sm/tensor_core/dot_width_bytes/value: must be a whole number from 2 to 4096, "
            "not 5000.0");
  core["dot_width_bytes"] = number(256);
  EXPECT_NO_THROW(parse_architecture(design.dump(), "x.json"));
}

// A number of a section that is no object, or that follows from no number: the reader's matter.
TEST(CommonNumbers, LeaveWhatIsMalformedToTheReader) {
  EXPECT_EQ(completed(json::array()), json::array());
  const json scalars{{"sm", 1}, {"memory", nullptr}, {"kernels", json::array()}};
  EXPECT_EQ(completed(scalars), scalars);
  json document = read("a100-sxm4-80gb.json");
  document["sm"]["tensor_core"]["dot_units"]["value"] = "many";
  support::expect_input_error([&] { parse_architecture(document.dump(), "x.json"); },
                              {"x.json: /sm/tensor_core/dot_units/value", "\"many\""});
}

// A refresh of GDDR6 with the interval of HBM2 would be the DRAM of no GPU.
TEST(CommonNumbers, AreNoHalfOfARefresh) {
  const char* const time = "dram_refresh_ns";
  const char* const interval = "dram_refresh_interval_ns";
  for (const auto& [given, other] : {std::pair{time, interval}, {interval, time}}) {
    const std::string why = std::string("/memory: has ") + given + " without " + other;
    json whole = read("a100-sxm4-80gb.json");
    whole["memory"][given] = number(given == time ? 120 : 1900);
    support::expect_input_error([&] { parse_architecture(whole.dump(), "x.json"); }, {"x.json: " + why});
    const json removed{{"base", "a40"}, {"name", "x"}, {"memory", {{other, nullptr}}}};
    support::expect_input_error([&] { parse_architecture(removed.dump(), "x.json"); }, {"x.json: " + why});
    const json changed{{"base", "a40"}, {"name", "x"}, {"memory", {{given, number(700)}}}};
    EXPECT_NO_THROW(parse_architecture(changed.dump(), "x.json")) << "the base has the other one";
  }
  const json both{{"base", "a40"}, {"name", "x"}, {"memory", {{time, nullptr}, {interval, nullptr}}}};
  EXPECT_EQ(parse_architecture(both.dump(), "x.json").gpu.memory.dram_refresh_interval_ns, 3900);
}

TEST(CommonNumbers, AreAllOnesThatArchitecturesHave) {
  std::set<std::string> fields;
  for (const ArchitectureField& field : architecture_fields()) {
    fields.insert(pointer_of(field).to_string());
  }
  int numbers = 0;
  const auto visit = [&](const auto& self, const json& section, const std::string& at) -> void {
    for (const auto& [key, inner] : section.items()) {
      if (inner.contains("value")) {
        EXPECT_TRUE(fields.contains(at + "/" + key)) << at << "/" << key;
        ++numbers;
      } else if (inner.is_object()) {
        self(self, inner, at + "/" + key);
      }
    }
  };
  visit(visit, read("common/architecture.json"), "");
  EXPECT_GT(numbers, 30);
}

// What nobody measured on one GPU stands in one place.
TEST(CommonNumbers, AreNotRepeatedByShippedFiles) {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    const json document = read(entry.path().filename().string());
    for (const ArchitectureField& field : architecture_fields()) {
      const json::json_pointer pointer = pointer_of(field);
      if (!document.contains(pointer) || document[pointer].is_null() || document[pointer]["evidence"] != "assumed") {
        continue;
      }
      json without = document;
      without[pointer.parent_pointer()].erase(std::string(field.key));
      if (field.key.starts_with("dram_refresh")) {  // the two stand together
        without["memory"].erase("dram_refresh_ns");
        without["memory"].erase("dram_refresh_interval_ns");
      }
      const json whole = completed(without);
      if (!whole.contains(pointer)) {  // no file may leave it out
        continue;
      }
      EXPECT_NE(whole[pointer]["value"], document[pointer]["value"]) << entry.path() << ": " << pointer.to_string();
      ++compared;
    }
  }
  EXPECT_GT(compared, 30);
}

TEST(CommonNumbers, OfADirectoryOfTheUsersOwnOverrideTheShippedOnes) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "common" / "architecture.json";
  std::filesystem::create_directories(file.parent_path());
  const support::Environment variable("SPTCSIM_CONFIG_DIR", directory.path().c_str());
  const json document = read("a100-sxm4-80gb.json");
  const json shipped = completed(document);
  io::write_file(file, json{{"sm", {{"barrier_latency_cycles", number(7)}}}}.dump());
  const json own = completed(document);
  EXPECT_EQ(own["sm"]["barrier_latency_cycles"], number(7));
  EXPECT_EQ(own["memory"], shipped["memory"]);
  const auto refused = [&](const json& content, std::string_view part) {
    io::write_file(file, content.is_string() ? content.get<std::string>() : content.dump());
    support::expect_input_error(read_common_numbers, {file.string(), part});
  };
  refused("{", "line 1");
  refused(json::array(), "object");
  refused({{"sm", 3}}, "/sm");
  refused({{"memory", {{"dram_refresh_ns", number(120)}}}}, "without dram_refresh_interval_ns");
  refused({{"sm", {{"barrier_cycles", number(7)}}}}, "/sm/barrier_cycles: is no number");
  refused({{"sm", {{"barrier_latency_cycles", 7}}}}, "/sm/barrier_latency_cycles");
  refused({{"sm", {{"barrier_latency_cycles", number(-1)}}}}, "/sm/barrier_latency_cycles/value");
  refused({{"sm", {{"barrier_latency_cycles", {{"value", 7}}}}}}, "evidence");
}

}  // namespace
}  // namespace sptc::config
