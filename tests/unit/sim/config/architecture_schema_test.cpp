// SPDX-License-Identifier: Apache-2.0
// The architecture files of the tree, and their JSON schemas.
#include "sim/config/architecture.h"
#include "sim/config/derivation.h"
#include "sim/io/text_file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace sptc::config {
namespace {

const std::string kSource = SPTC_SOURCE_DIR;

TEST(Architecture, EveryFileInTheTreeIsValidAndNamedAsItIs) {
  for (const std::string& name : architecture_names()) {
    EXPECT_EQ(load_architecture(name).gpu.name, name);
  }
  const std::vector<std::string> names = architecture_names();
  for (const char* expected : {"a100-sxm4-80gb", "a40", "h100-sxm5-80gb", "v100-sxm2-16gb"}) {
    EXPECT_NE(std::ranges::find(names, expected), names.end()) << expected;
  }
}

// Run with SPTC_UPDATE_SCHEMA=1 to write the file anew.
TEST(ArchitectureSchema, InTheTreeIsTheOneTheReaderImplies) {
  for (const auto& [name, schema] :
       {std::pair<std::string, std::string>{"architecture", architecture_schema()},
        {"derived-architecture", derived_architecture_schema()}}) {
    const std::string file = kSource + "/configs/schema/" + name + ".schema.json";
    if (std::getenv("SPTC_UPDATE_SCHEMA") != nullptr) {
      io::write_file(file, schema);
    }
    EXPECT_EQ(io::read_text_file(file, 1 << 20), schema);
  }
}

// The part of draft-07 that the schemas use.
void expect_valid(const nlohmann::json& schema, const nlohmann::json& value,
                  const std::string& where) {
  for (const auto& key : schema.value("required", nlohmann::json::array())) {
    EXPECT_TRUE(value.contains(key)) << where << " lacks " << key;
  }
  for (const auto& [key, inner] : value.items()) {
    if (schema.contains("properties")) {
      ASSERT_TRUE(schema["properties"].contains(key)) << where << "/" << key;
      const auto& of_key = schema["properties"][key];
      if (of_key.value("type", "") == "object") {
        expect_valid(of_key, inner, where + "/" + key);
      }
      if (of_key.contains("minimum")) {
        EXPECT_GE(inner, of_key["minimum"]) << where << "/" << key;
        EXPECT_LE(inner, of_key["maximum"]) << where << "/" << key;
      }
    }
  }
}

TEST(ArchitectureSchema, TakesEveryFileOfTheTree) {
  namespace fs = std::filesystem;
  const auto whole = nlohmann::json::parse(architecture_schema());
  const auto derived = nlohmann::json::parse(derived_architecture_schema());
  int files = 0;
  for (const char* folder : {"", "mig"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(kSource) / "configs" / folder)) {
      if (entry.path().extension() == ".json") {
        const auto document =
            nlohmann::json::parse(io::read_text_file(entry.path().string(), 1 << 20));
        expect_valid(document.contains("base") ? derived : whole, document, entry.path().string());
        ++files;
      }
    }
  }
  EXPECT_EQ(files, 25);
}

}  // namespace
}  // namespace sptc::config
