// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_report.h"

#include "sim/sweep/sweep_store.h"
#include "sim/sweep/sweep_table.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sptc::sweep {
namespace {

using nlohmann::json;

/// time = 1000 / sms, energy = sms * seed, and one failed point.
class SweepReport : public testing::Test {
 protected:
  support::TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "r.sqlite";

  void SetUp() override {
    const SweepPlan plan =
        make_plan({{"workloads", {{{"m", 16}, {"n", 16}, {"k", 16}}}}, {"name", "a, \"b\" </script>\x1b[2J"}});
    store_points(file, plan, [&](PointOutcome& outcome) {
      const double sms = plan.value(2, outcome.position).get<double>();
      const double seed = plan.value(3, outcome.position).get<double>();
      if (outcome.position == 5) {
        outcome.failed = true;
        outcome.reason = "too | small, \"really\"";
      } else {
        outcome.totals.add({"sparse", "time_us"}, 1000 / sms);
        outcome.totals.add({"sparse", "energy_uj"}, sms * seed);
        outcome.totals.add({"speedup"}, 1.5);
      }
    });
  }
};

TEST_F(SweepReport, CsvHoldsEveryRowQuotedWhereNecessary) {
  const std::string csv = sweep_report(file, "csv");
  EXPECT_TRUE(csv.starts_with("position,status,")) << csv;
  EXPECT_NE(csv.find("\"too | small, \"\"really\"\"\""), std::string::npos) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
}

TEST_F(SweepReport, FindsTheParetoFrontOfTimeAndEnergy) {
  const SweepTable table = read_sweep_table(file);
  const auto objectives = default_objectives(table);
  ASSERT_EQ(objectives.size(), 2u);
  EXPECT_EQ(objectives[0]->name, "sparse_time_us");
  EXPECT_EQ(objectives[1]->name, "sparse_energy_uj");
  // For each number of SMs the lower seed takes less energy and the same time.
  EXPECT_EQ(pareto_front(table, objectives), (std::vector<std::size_t>{2, 0, 4}));
}

TEST_F(SweepReport, MeasuresWhatOneAxisDoesAlone) {
  const SweepTable table = read_sweep_table(file);
  for (const Sensitivity& one : sensitivities(table)) {
    const std::string what = one.axis->name + " on " + one.figure->name;
    if (what == "sms on sparse_time_us") {
      EXPECT_EQ(one.groups, 2u);
      EXPECT_NEAR(one.largest_ratio, 4, 1e-9) << "27 to 108 SMs at seed 1";
      EXPECT_NEAR(one.typical_ratio, std::sqrt(4.0 * 2.0), 1e-9);
      EXPECT_EQ(one.best_value, "108");
    } else if (what == "seed on sparse_time_us") {
      EXPECT_EQ(one.largest_ratio, 1);
      EXPECT_EQ(one.best_value, "tie: 1, 2");
    } else if (what == "seed on sparse_energy_uj") {
      EXPECT_NEAR(one.typical_ratio, 2, 1e-9);
      EXPECT_EQ(one.best_value, "1");
    }
  }
  EXPECT_EQ(sensitivities(table).size(), 6u);
}

TEST_F(SweepReport, MarkdownTellsFrontSensitivityAndFailures) {
  const std::string text = sweep_report(file, "markdown");
  for (const char* part : {"## Sensitivity", "## Pareto front", "## Failures", "no effect", "6 points, 1 failed",
                           "too \\| small", "\\x1b[2J"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "a terminal would obey it";
}

TEST_F(SweepReport, SaysWhichPointsCannotBeOnTheFront) {
  const std::filesystem::path results = directory.path() / "partly.sqlite";
  const SweepPlan plan = make_plan(
      {{"workloads", {{{"m", 16}, {"n", 16}, {"k", 16}}}}, {"axes", {{{"parameter", "/sms"}, {"values", {27, 54}}}}}});
  store_points(results, plan, [](PointOutcome& outcome) {
    outcome.totals.add({"sparse", "time_us"}, 1000 + static_cast<double>(outcome.position));
    if (outcome.position == 0) {
      outcome.totals.add({"sparse", "energy_uj"}, 5);
    }
  });
  const std::string text = sweep_report(results, "markdown");
  EXPECT_EQ(text.find("Never changing alone"), std::string::npos);
  EXPECT_NE(text.find("Not among them: 1 point without sparse_energy_uj"), std::string::npos) << text;
}

// Four clocks and two types that change nothing.
TEST_F(SweepReport, PointsOfTheFrontThatAreEqualShareARow) {
  const std::filesystem::path results = directory.path() / "equal.sqlite";
  const SweepPlan plan =
      make_plan({{"axes",
                  {{{"parameter", "/sms"}, {"values", {27, 54}}},
                   {{"parameter", "/boost_clock_mhz"}, {"name", "clock"}, {"values", {1000, 2000, 3000, 4000}}},
                   {{"option", "dtype"}, {"values", {"f16", "bf16"}}}}}});
  store_points(results, plan, [&](PointOutcome& outcome) {
    const std::uint64_t position = outcome.position;
    outcome.totals.add({"sparse", "time_us"}, position < 16 ? 100 : 200);  // by workload
    outcome.totals.add({"sparse", "energy_uj"}, plan.value(2, position).get<double>());
    outcome.totals.add({"speedup"}, 1 + static_cast<double>(position % 2));
  });
  const std::string text = sweep_report(results, "markdown");
  for (const char* const part :
       {"16 points at the stated constants", "share one of 2 rows", "| position | points | workload |",
        "| 0 | 8 | 16x16x16 | ", "| 27 | 1000 to 4000 (4 values) | f16, bf16 | 27 | 100 | 1 to 2 |"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

/// A table of `rows` points of two workloads with numbers of which none repeats.
SweepTable large_table(std::size_t rows) {
  using Role = SweepColumn::Role;
  SweepTable table;
  table.rows = rows;
  table.entries.texts = {{"name", "large"}, {"version", "1"}, {"digest", "0123456789abcdef"}, {"spec", "{}"}};
  const auto words = [&](const char* name, Role role, std::vector<std::string> list) {
    SweepColumn column{name, role, false, {}, std::move(list)};
    for (std::size_t row = 0; row < rows; ++row) {
      column.numbers.push_back(static_cast<double>(row % column.words.size()));
    }
    table.columns.push_back(std::move(column));
  };
  const auto numbers = [&](const std::string& name, Role role, auto value) {
    SweepColumn column{name, role, true, {}, {}};
    for (std::size_t row = 0; row < rows; ++row) {
      column.numbers.push_back(value(static_cast<double>(row)));
    }
    table.columns.push_back(std::move(column));
  };
  numbers("position", Role::kPosition, [](double row) { return row; });
  words("status", Role::kStatus, {"done"});
  words("workload", Role::kAxis, {"a", "b"});
  numbers("sms", Role::kAxis, [](double row) { return std::fmod(row, 100); });
  // The first thousand are on the front; the others are slower and take more.
  numbers("sparse_time_us", Role::kTotal, [](double row) { return row < 1000 ? 1 + row : 2000 + std::sqrt(row); });
  numbers("sparse_energy_uj", Role::kTotal, [](double row) { return row < 1000 ? 1 / (1 + row) : 9 + std::sin(row); });
  for (int i = 0; i < 40; ++i) {
    numbers(fmt::format("part_{}", i), Role::kTotal, [i](double row) { return std::sin(row + 1000 * i); });
  }
  words("reason", Role::kReason, {""});
  return table;
}

json data_of(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t at = page.find(open) + open.size();
  return json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST_F(SweepReport, SaysHowNearToTheBoardsPairsWereMeasured) {
  const std::string near = "a100-sxm4-80gb: f16 measured on its chip, GA100 (a100-pcie-80gb); mean";
  const std::string own = "a point with another sms: measured on none, for it is a design of one's own.";
  const std::string text = sweep_report(file, "markdown");
  EXPECT_NE(text.find("\n- evidence, " + near), std::string::npos) << text;
  EXPECT_NE(text.find("\n- evidence, " + own + "\n"), std::string::npos) << text;
  const auto page = data_of(sweep_report(file, "html"))["evidence"].get<std::string>();
  EXPECT_TRUE(page.starts_with(near) && page.ends_with("\n" + own)) << page;
  // Results that do not say.
  EXPECT_EQ(sweep_report(large_table(3), "markdown").find("evidence, "), std::string::npos);
  EXPECT_EQ(data_of(html_report(large_table(3), ""))["evidence"], "");
}

TEST_F(SweepReport, ThePageOfManyPointsIsSmallAndHoldsTheWholeFront) {
  constexpr std::size_t kMegabyte = 1'000'000;
  const std::string page = html_report(large_table(100'000), "");
  EXPECT_LT(page.size(), 2 * kMegabyte);
  EXPECT_GT(page.size(), kMegabyte) << "it holds less than it might";
  const json data = data_of(page);
  EXPECT_EQ(data["points"], 100'000);
  EXPECT_EQ(data["left"], 40) << "the parts";
  EXPECT_EQ(data["front"].size(), 1000U);
  const auto rows = data["rows"].get<std::size_t>();
  EXPECT_GT(rows, 10'000U);
  for (std::size_t row = 0; row < 1000; ++row) {
    EXPECT_LT(data["front"][row][0].get<std::size_t>(), 1000U) << row;
  }
  const json small = data_of(html_report(large_table(500), ""));
  EXPECT_EQ(small["rows"], 500);
  EXPECT_EQ(small["left"], 0);
  EXPECT_EQ(small["columns"].size(), 47U);
}

// Sixty are shown.
TEST_F(SweepReport, SaysHowManyPointsOfALongFrontItLeavesOut) {
  const auto text_of = [](std::size_t rows) { return sweep_report(large_table(rows), "markdown"); };
  EXPECT_EQ(text_of(60).find("more in the CSV"), std::string::npos);
  const std::string text = text_of(61);
  EXPECT_NE(text.find("\n1 more in the CSV.\n"), std::string::npos) << text;
}

TEST_F(SweepReport, AxesThatNeverChangeAloneAreNamedOnce) {
  const std::filesystem::path zipped = directory.path() / "zipped.sqlite";
  const SweepPlan plan = make_plan(
      {{"workloads", {{{"m", 16}, {"n", 16}, {"k", 16}}}},
       {"axes",
        {{{"zip", {{{"parameter", "/sms"}, {"values", {54, 108}}}, {{"option", "seed"}, {"values", {1, 2}}}}}},
         {{"parameter", "/boost_clock_mhz"}, {"name", "clock"}, {"values", {1000, 2000}}}}}});
  store_points(zipped, plan, [](PointOutcome& outcome) {
    outcome.totals.add({"sparse", "time_us"}, 1000 + static_cast<double>(outcome.position));
    outcome.totals.add({"speedup"}, 1.5);
  });
  const std::string text = sweep_report(zipped, "markdown");
  EXPECT_NE(text.find("\nNever changing alone: sms, seed.\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("| seed | sparse_time_us"), std::string::npos) << text;
  EXPECT_NE(text.find("| clock | sparse_time_us"), std::string::npos) << text;
}

TEST_F(SweepReport, HtmlIsOneFileWhoseDataCannotEndTheScript) {
  const std::string html = sweep_report(file, "html");
  EXPECT_EQ(html.find("a, \"b\" </script>"), std::string::npos);
  EXPECT_EQ(html.find("http://"), std::string::npos);
  EXPECT_EQ(html.find("https://"), std::string::npos);
  const json data = data_of(html);
  EXPECT_EQ(data["name"], "a, \"b\" </script>\x1b[2J");
  EXPECT_EQ(data["rows"], 6);
  const auto column = [&](const std::string& name) {
    return *std::find_if(data["columns"].begin(), data["columns"].end(),
                         [&](const json& one) { return one["name"] == name; });
  };
  // Bytes in base64: two status words, five done and the last one failed.
  EXPECT_EQ(column("status")["codes"]["base64"], "AAAAAAAB");
  // 54, 54, 108, 108, 27, 27 as places of the distinct doubles.
  EXPECT_EQ(column("sms")["codes"]["base64"], "AAABAQIC");
  EXPECT_EQ(column("sms")["numbers"], "AAAAAAAAS0AAAAAAAABbQAAAAAAAADtA");
}

TEST_F(SweepReport, RefusesUnknownFormatsAndFilesWithoutPoints) {
  support::expect_input_error([] { require_report_format("md"); }, {"markdown"});
  support::expect_input_error([] { sweep_report("no.sqlite", "csv"); }, {"no such file"});
  const std::filesystem::path begun = directory.path() / "begun.sqlite";
  SweepStore(begun, make_plan(), {});
  support::expect_input_error([&] { sweep_report(begun, "csv"); }, {"has not stored a point yet"});
}

}  // namespace
}  // namespace sptc::sweep
