// SPDX-License-Identifier: Apache-2.0
// Every workload list of traces/ against the totals that its file states.
#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace sptc::workload
