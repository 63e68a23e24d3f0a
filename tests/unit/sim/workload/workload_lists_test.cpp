// SPDX-License-Identifier: Apache-2.0
// Every workload list of traces/ against the totals that its file states.
#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"
#include "tests/support/json_schema.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

namespace sptc::workload {
namespace {

const std::filesystem::path kTraces = std::filesystem::path(SPTC_SOURCE_DIR) / "traces";

nlohmann::json document(const std::filesystem::path& file) {
  return nlohmann::json::parse(io::read_text_file(file, 1 << 20));
}

void expect_totals(const Workload& workload, const nlohmann::json& totals) {
  std::int64_t macs = 0;
  std::int64_t prunable_macs = 0;
  std::int64_t launches = 0;
  for (const Operation& op : workload.operations) {
    macs += op.total_macs();
    prunable_macs += op.prunable ? op.total_macs() : 0;
    launches += op.count;
  }
  EXPECT_EQ(macs, totals["macs"].get<std::int64_t>());
  EXPECT_EQ(prunable_macs, totals["prunable_macs"].get<std::int64_t>());
  EXPECT_EQ(launches, totals["launches"].get<std::int64_t>());
  EXPECT_EQ(workload.operations.size(), totals["ops"].get<std::size_t>());
}

TEST(WorkloadLists, AllReadAndHaveTheMacsTheyState) {
  const nlohmann::json index = document(kTraces / "INDEX.json");
  EXPECT_EQ(index.size(), 30u);
  for (const auto& row : index) {
    const std::filesystem::path file = kTraces / row["file"].get<std::string>();
    SCOPED_TRACE(file.filename().string());
    const nlohmann::json list = document(file);
    if (list["totals"].is_array()) {  // of several values of the dimensions, the defaults first
      expect_totals(read_workload(file), list["totals"][0]);
      for (const auto& totals : list["totals"]) {
        expect_totals(read_workload(file, totals["dims"].get<NamedDims>()), totals);
      }
    } else {
      expect_totals(read_workload(file), list["totals"]);
    }
  }
}

TEST(WorkloadLists, TheIndexNamesEveryListInTheFolder) {
  const nlohmann::json index = document(kTraces / "INDEX.json");
  std::set<std::string> indexed = {"INDEX.json"};
  for (const auto& row : index) {
    indexed.insert(row["file"].get<std::string>());
  }
  std::set<std::string> present;
  for (const auto& entry : std::filesystem::directory_iterator(kTraces)) {
    if (entry.path().extension() == ".json") {
      present.insert(entry.path().filename().string());
    }
  }
  EXPECT_EQ(present, indexed);
}

TEST(WorkloadLists, AllFollowTheSchema) {
  const support::JsonSchema schema(
      document(std::string(SPTC_SOURCE_DIR) + "/configs/schema/workload.schema.json"));
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kTraces)) {
    if (entry.path().extension() == ".json" && entry.path().filename() != "INDEX.json") {
      EXPECT_EQ(schema.fault(document(entry.path())), "") << entry.path();
      ++files;
    }
  }
  EXPECT_EQ(files, 32);
}

/// Of "unknown key 'x' (..; allowed: a, b)" or, of many, "(..; 29 are allowed)" how many keys are
/// allowed; 0 of another message.
std::size_t keys_allowed(const std::string& message) {
  const std::size_t list = message.find("; allowed: ");
  if (list != std::string::npos) {
    return 1 + static_cast<std::size_t>(std::count(message.begin() + list + 1, message.end(), ','));
  }
  std::size_t count = 0;
  const std::size_t number = message.rfind("; ");
  if (number != std::string::npos && message.ends_with(" are allowed)")) {
    std::from_chars(message.data() + number + 2, message.data() + message.size(), count);
  }
  return count;
}

// What the reader refuses, the schema refuses, and the reverse: each key of the schema is known to
// the reader, which knows as many.
TEST(WorkloadLists, ReaderAndSchemaKnowTheSameKeys) {
  const nlohmann::json schema =
      document(std::string(SPTC_SOURCE_DIR) + "/configs/schema/workload.schema.json");
  const auto plain = nlohmann::json::parse(
      R"({"schema": "gemm-workload/0.2", "ops": [{"name": "c", "conv": {"N": 1, "C": 16, "H": 8,
          "W": 8, "K": 8, "R": 3, "S": 3}, "recorded": {}},
          {"name": "v", "kind": "gelu", "rows": 8, "columns": 8}]})");
  // What the reader says of `key`, where it says that it does not know it.
  const auto unknown_to_reader = [&](const std::string& at, const std::string& key) {
    nlohmann::json changed = plain;
    changed[nlohmann::json::json_pointer(at)][key] = 5;
    std::string message;
    try {
      parse_workload_json(changed.dump(), "w.json");
    } catch (const base::InputError& error) {
      message = error.what();
    }
    return message.find("unknown key") == std::string::npos ? "" : message;
  };
  const std::string op = "/definitions/gemm";
  for (const auto& [at, of_schema] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"/ops/0", op},
           {"/ops/1", "/definitions/vector"},
           {"/network", "/properties/network"},
           {"/not_taken/0", "/properties/not_taken/items"},
           {"/ops/0/tensors", op + "/properties/tensors"},
           {"/ops/0/conv", op + "/properties/conv"},
           {"/ops/0/recorded", op + "/properties/recorded"}}) {
    const auto keys = schema[nlohmann::json::json_pointer(of_schema)]["properties"];
    for (const auto& [key, value] : keys.items()) {
      EXPECT_EQ(unknown_to_reader(at, key), "") << at << "/" << key;
    }
    EXPECT_EQ(keys_allowed(unknown_to_reader(at, "other")), keys.size()) << at;
  }
}

TEST(WorkloadLists, ResNextLowersItsGroupedConvolutionsToBatchedGemms) {
  const Workload workload = read_workload(kTraces / "resnext101_32x16d.json");
  const auto grouped =
      std::find_if(workload.operations.begin(), workload.operations.end(),
                   [](const Operation& op) { return op.conv && op.conv->groups == 32; });
  ASSERT_NE(grouped, workload.operations.end());
  EXPECT_EQ(grouped->shape, (base::GemmShape{16, 3136, 144}));
  EXPECT_EQ(grouped->batch, 32);
  EXPECT_TRUE(grouped->prunable);
}

TEST(WorkloadLists, BertKeepsItsAttentionDense) {
  for (const Operation& op : read_workload(kTraces / "bert_large.json").operations) {
    const bool attention = op.name == "attn.scores" || op.name == "attn.context";
    EXPECT_EQ(op.prunable, !attention && op.name != "qa_outputs") << op.name;
  }
}

}  // namespace
}  // namespace sptc::workload
