// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/resimulation.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_store.h"
#include "sim/sweep/sweep_table.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sptc::sweep {
namespace {

using nlohmann::json;

/// A design whose energy is all of one part.
struct Design {
  double time_us, energy_uj;
  const char* part;
};

json changes() {
  return {{"workloads", {{{"m", 16}, {"n", 16}, {"k", 16}}}},
          {"options", {{"fidelity", "analytic"}}},
          {"axes", {{{"parameter", "/sms"}, {"values", {27, 54, 81, 108, 135}}}}}};
}

class CostFront : public testing::Test {
 protected:
  support::TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "r.sqlite";
  SweepPlan plan = make_plan(changes());

  void store(const std::vector<Design>& designs) {
    const auto fill = [&](PointOutcome& outcome) {
      const Design& design = designs[outcome.position];
      outcome.totals.add({"sparse", "time_us"}, design.time_us);
      outcome.totals.add({"sparse", "energy_uj", design.part}, design.energy_uj);
      outcome.totals.add({"sparse", "energy_uj_total"}, design.energy_uj);
    };
    store_points(file, plan, fill, designs.size());
  }

  std::vector<FrontRow> front() const {
    const SweepTable table = read_sweep_table(file);
    return front_within_ranges(table, default_objectives(table));
  }

  void set_entry(const std::string& value) const {
    Database database(file, Database::Mode::kWrite);
    database.execute("UPDATE sweep SET value = '" + value + "' WHERE key = 'costs'");
  }
};

TEST_F(CostFront, DominanceInASharedConstantIsCertainAndAcrossConstantsItIsNot) {
  // A byte of DRAM costs 75 to 105 pJ, an instruction 20 to 320: 10 uJ of the one may be less than
  // 9 uJ of the other. 11 uJ of DRAM are never less than 10.
  store({{1, 100, "hbm"}, {2, 10, "hbm"}, {2, 9, "instruction_issue"}, {3, 11, "hbm"}});
  const std::vector<FrontRow> rows = front();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].row, 0u);
  EXPECT_TRUE(rows[0].stated && rows[0].certain) << "the fastest";
  EXPECT_EQ(rows[1].row, 2u);
  EXPECT_TRUE(rows[1].stated && !rows[1].certain);
  EXPECT_EQ(rows[2].row, 1u);
  EXPECT_TRUE(!rows[2].stated && !rows[2].certain);
}

TEST_F(CostFront, TheReportTellsHowSurelyAPointIsOnIt) {
  store({{1, 100, "hbm"}, {2, 10, "hbm"}, {2, 9, "instruction_issue"}, {3, 11, "hbm"}});
  const std::string text = sweep_report(file, "markdown");
  for (const char* part : {"2 points at the stated constants", "1 of them are on it for certain",
                           "1 more are on it somewhere", "| for certain |", "| at other constants |"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  const std::string page = sweep_report(file, "html");
  EXPECT_NE(page.find(R"("front":[[0,"certain"],[2,"stated"],[1,"other"]])"), std::string::npos);
}

TEST_F(CostFront, EqualDesignsShareTheirPlace) {
  store({{1, 10, "hbm"}, {1, 10, "hbm"}, {2, 20, "hbm"}});
  const std::vector<FrontRow> rows = front();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].certain && rows[1].certain);
}

TEST_F(CostFront, EqualDesignsAreEqualThoughTwoOfTheirPartsShareAConstant) {
  const auto fill = [](PointOutcome& outcome) {
    outcome.totals.add({"sparse", "time_us"}, 1);
    outcome.totals.add({"sparse", "energy_uj", "constant"}, 0.1);
    outcome.totals.add({"sparse", "energy_uj", "board"}, 0.2);  // 0.1 + 0.2 - 0.1 - 0.2 is not 0
    outcome.totals.add({"sparse", "energy_uj_total"}, 0.1 + 0.2);
  };
  store_points(file, plan, fill, 2);
  const std::vector<FrontRow> rows = front();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].certain && rows[1].certain);
}

TEST_F(CostFront, ResultsThatNameNoConstantsHaveAPlainFront) {
  store({{1, 100, "hbm"}, {2, 10, "hbm"}, {2, 9, "instruction_issue"}});
  Database(file, Database::Mode::kWrite).execute("DELETE FROM sweep WHERE key = 'costs'");
  for (const FrontRow& row : front()) {
    EXPECT_TRUE(row.stated && row.certain);
  }
  EXPECT_EQ(front().size(), 2u);
}

TEST_F(CostFront, DamagedConstantsAreRefused) {
  store({{1, 100, "hbm"}});
  for (const char* damage : {"{}", "[]", "no JSON", "{\"factors\": [[2, 3, -1]]}", "{\"factors\": [[0.5, 2, 0]]}"}) {
    set_entry(damage);
    support::expect_input_error([&] { read_sweep_table(file); }, {"r.sqlite", "'costs'"});
  }
}

TEST_F(CostFront, WhatIsWithinFivePercentOfTheFrontIsNearIt) {
  store({{1, 100, "hbm"}, {1.04, 104, "hbm"}, {1.1, 104, "hbm"}, {2, 50, "hbm"}, {2.2, 54, "hbm"}});
  // 4 % less of both objectives would put the second one there, 4 % less energy the third one.
  EXPECT_EQ(points_near_front(read_sweep_table(file), 10), (std::vector<std::uint64_t>{0, 3, 1, 2}));
  EXPECT_EQ(points_near_front(read_sweep_table(file), 2), (std::vector<std::uint64_t>{0, 3}));
}

TEST_F(CostFront, WhatSystemCSaysOfTheFrontIsMarkedWhereItDiffers) {
  store({{1, 100, "hbm"}, {2, 50, "hbm"}, {4, 80, "hbm"}});
  const std::filesystem::path timing = directory.path() / "t.sqlite";
  const auto fill = [](PointOutcome& outcome) {
    outcome.totals.add({"sparse", "time_us"}, outcome.position == 0 ? 2.5 : 2.0);
    outcome.totals.add({"sparse", "energy_uj_total"}, outcome.position == 0 ? 100.0 : 50.0);
  };
  store_points(timing, SweepPlan(as_timing(plan.spec())), fill, 2);
  add_timing(file, timing);
  const SweepTable table = read_sweep_table(file);
  const std::vector<SimulatedAgain> again = simulated_again(table);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_DOUBLE_EQ(again[0].time_ratio, 2.5);
  EXPECT_TRUE(again[0].differs && again[0].was_on_front && again[0].is_beaten);
  EXPECT_TRUE(!again[1].differs && again[1].was_on_front && !again[1].is_beaten);
  EXPECT_TRUE(points_near_front(table, 10).empty()) << "SystemC has simulated them";
  const std::string text = sweep_report(file, "markdown");
  EXPECT_NE(text.find("+150.0 % (differs)"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of the 2 that are on the front are beaten"), std::string::npos) << text;
}

TEST(Resimulation, OnlyASweepInClosedFormHasAFrontToSimulateAgain) {
  support::expect_input_error(
      [] {
        as_timing(make_plan({{"options", {{"fidelity", "timing"}}}}).spec());
      },
      {"--resimulate", "\"fidelity\": \"analytic\""});
}

}  // namespace
}  // namespace sptc::sweep
