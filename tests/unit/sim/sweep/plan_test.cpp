// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/plan.h"

#include "tests/support/environment.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/put_file.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <tuple>

namespace sptc::sweep {
namespace {

using nlohmann::json;

TEST(SweepPlan, IsTheProductOfAllAxesWorkloadsOutermost) {
  const SweepPlan plan = make_plan();
  EXPECT_EQ(plan.product(), 2u * 3 * 2);
  EXPECT_EQ(positions(plan).size(), 12u);
  EXPECT_EQ(plan.point(0).workload, 0u);
  EXPECT_EQ(plan.point(11).workload, 1u);
  EXPECT_EQ(plan.point(1).options.at("seed"), "2");
  EXPECT_EQ(plan.value(2, 3), 108);
}

TEST(SweepPlan, AdvancesZippedAxesTogether) {
  const SweepPlan plan = make_plan(
      {{"axes",
        {{{"zip", {{{"parameter", "/sms"}, {"values", {54, 27}}}, {{"option", "seed"}, {"values", {1, 2}}}}}}}}});
  EXPECT_EQ(positions(plan).size(), 4u);
  EXPECT_EQ(plan.value(2, 1), 27);
  EXPECT_EQ(plan.value(3, 1), 2);
}

TEST(SweepPlan, LeavesOutWhatAConditionForbids) {
  const SweepPlan plan = make_plan({{"where", {"sms < 100", "workload == '16x16x16'"}}});
  EXPECT_EQ(positions(plan), (std::vector<std::uint64_t>{0, 1, 4, 5}));
  support::expect_input_error([] { make_plan({{"where", "smss > 1"}}); }, {"unknown axis 'smss'"});
}

TEST(SweepPlan, DrawsDistinctPointsTheSameForTheSameSeed) {
  const auto drawn = [](std::uint64_t points, std::uint64_t seed) {
    return positions(make_plan({{"sample", {{"points", points}, {"seed", seed}}}}));
  };
  const std::vector<std::uint64_t> seven = drawn(7, 1);
  EXPECT_EQ(seven.size(), 7u);
  EXPECT_EQ(std::set<std::uint64_t>(seven.begin(), seven.end()).size(), 7u);
  EXPECT_EQ(seven, drawn(7, 1));
  EXPECT_NE(seven, drawn(7, 2));
  EXPECT_EQ(drawn(100, 1).size(), 12u) << "no more than there are";
}

TEST(SweepPlan, SamplesAProductThatNobodyCouldEnumerate) {
  json axes = json::array();
  for (int i = 0; i < 6; ++i) {
    axes.push_back({{"option", "x" + std::to_string(i)}, {"range", {{"from", 1}, {"to", 1000}, {"step", 1}}}});
  }
  const SweepPlan plan = make_plan({{"axes", axes}, {"sample", {{"points", 5}}}, {"where", "x0 < 500"}});
  EXPECT_EQ(positions(plan).size(), 5u);
  support::expect_input_error([&] { make_plan({{"axes", axes}}); }, {"draw some with \"sample\""});
  for (int i = 6; i < 30; ++i) {
    axes.push_back({{"option", "x" + std::to_string(i)}, {"values", {1, 2, 3, 4, 5, 6, 7, 8}}});
  }
  support::expect_input_error([&] { make_plan({{"axes", axes}, {"sample", {{"points", 5}}}}); }, {"2^62"});
}

TEST(SweepPlan, HashesConfigurationWorkloadAndSeedAndNothingElse) {
  const SweepPlan plan = make_plan();
  std::set<std::string> hashes;
  for (const std::uint64_t position : positions(plan)) {
    hashes.insert(plan.hash(plan.point(position)));
  }
  EXPECT_EQ(hashes.size(), 12u);
  const auto first = [](const SweepPlan& other) { return other.hash(other.point(0)); };
  EXPECT_EQ(first(plan), first(make_plan({{"name", "other"}, {"description", "x"}})));
  // The same configuration by another way: all of the architecture counts, not how it was said.
  const SweepPlan swapped =
      make_plan({{"axes", {{{"parameter", "/sms"}, {"values", {108, 54}}}, {{"option", "seed"}, {"values", {1}}}}}});
  EXPECT_EQ(first(plan), swapped.hash(swapped.point(1)));
  EXPECT_NE(plan.digest(), swapped.digest());
  EXPECT_EQ(plan.digest(), make_plan({{"name", "other"}}).digest());
}

TEST(SweepPlan, HashesWhatTheFilesHoldThatOptionsName) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "own.json";
  const std::filesystem::path base = directory.path() / "base.json";
  const auto hashes = [](const json& changes) {
    const SweepPlan plan = make_plan(changes);
    return std::vector<std::string>{plan.digest(), plan.hash(plan.point(0))};
  };
  const auto all_differ = [](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return a[0] != b[0] && a[1] != b[1];
  };
  for (const char* const option : {"data", "energy", "engine", "library", "sparsity"}) {
    for (const bool as_axis : {false, true}) {
      const json changes = as_axis ? json{{"axes", {{{"option", option}, {"values", {file.string()}}}}}}
                                   : json{{"options", {{option, file.string()}}}};
      std::filesystem::remove(file);
      const auto none = hashes(changes);
      support::put_file(file, "a");
      const auto first = hashes(changes);
      support::put_file(file, "a\nb");
      const auto second = hashes(changes);
      EXPECT_TRUE(all_differ(none, first) && all_differ(first, second)) << option << as_axis;
      support::put_file(file, "a");
      EXPECT_EQ(hashes(changes), first) << option << as_axis;
      support::put_file(file, R"({"base": "base.json"})");
      support::put_file(base, "{}");
      const auto derived = hashes(changes);
      support::put_file(base, R"({"base": "own.json"})");
      EXPECT_TRUE(all_differ(hashes(changes), derived)) << option << as_axis;
    }
  }
}

TEST(SweepPlan, HashesNamedFilesOfTheConfigurationDirectory) {
  const support::TemporaryDirectory directory;
  const std::filesystem::path engines = directory.path() / "engines";
  std::filesystem::create_directories(engines);
  std::filesystem::copy(std::filesystem::path(SPTC_SOURCE_DIR) / "configs/a100-sxm4-80gb.json", directory.path());
  const support::Environment variable("SPTCSIM_CONFIG_DIR", directory.path().c_str());
  const auto digest_with = [&](const char* content) {
    support::put_file(engines / "own.json", content);
    return make_plan({{"options", {{"engine", "own"}}}}).digest();
  };
  EXPECT_NO_THROW(EXPECT_NE(digest_with("{}"), digest_with("{ }")));
}

TEST(SweepPlan, HashesTheFilesThatAnArchitectureTakesByItself) {
  const support::TemporaryDirectory directory;
  const std::string name = "a100-sxm4-80gb.json";
  std::filesystem::copy(std::filesystem::path(SPTC_SOURCE_DIR) / "configs" / name, directory.path());
  const support::Environment variable("SPTCSIM_CONFIG_DIR", directory.path().c_str());
  for (const auto& [folder, file, option] :
       {std::tuple("energy", name, "energy"), std::tuple("libraries", std::string("cublas-sm80.json"), "library")}) {
    const std::filesystem::path own = directory.path() / folder / file;
    std::filesystem::create_directories(own.parent_path());
    const std::filesystem::path shipped = std::filesystem::path(SPTC_SOURCE_DIR) / "configs" / folder / file;
    const auto hashes = [](const json& options) {
      const SweepPlan plan = make_plan({{"options", options}});
      return std::pair(plan.digest(), plan.hash(plan.point(0)));
    };
    const auto both = [&](const json& options) {
      std::filesystem::copy_file(shipped, own, std::filesystem::copy_options::overwrite_existing);
      const auto before = hashes(options);
      support::put_file(own, io::read_text_file(shipped, 1 << 20) + "\n");
      return std::pair(before, hashes(options));
    };
    const auto [before, after] = both(json::object());
    EXPECT_NE(before.first, after.first) << option;
    EXPECT_NE(before.second, after.second) << option;
    const auto [named_before, named_after] = both({{option, (shipped).string()}});
    EXPECT_EQ(named_before, named_after) << "another file is named: " << option;
  }
}

const std::vector<std::string> kAxes = {"sms", "dtype", "flag", "check"};
const io::JsonPlace kPlace{"spec.json", "/where"};

bool holds(std::string_view text, int sms = 54) {
  const std::vector<nlohmann::json> values = {sms, "f16", true, 1};
  return Condition(text, kAxes, kPlace).holds([&](std::size_t axis) -> const nlohmann::json& { return values[axis]; });
}

void refused(std::string_view text, std::string_view part) {
  support::expect_input_error([&] { holds(text); }, {"spec.json: /where: ", part});
}

TEST(Condition, BindsLikeArithmeticAndLogicDo) {
  EXPECT_TRUE(holds("2 + 3 * 4 == 14"));
  EXPECT_TRUE(holds("(2 + 3) * 4 == 20"));
  EXPECT_TRUE(holds("10 - 3 - 2 == 5"));
  EXPECT_TRUE(holds("sms % 4 == 2 and sms / 2 == 27"));
  EXPECT_TRUE(holds("1 == 1 or 1 == 2 and 1 == 3"));
  EXPECT_TRUE(holds("not sms > 60"));
  EXPECT_FALSE(holds("not (sms <= 60)"));
  EXPECT_TRUE(holds("-sms < 0 and sms != 55"));
  EXPECT_TRUE(holds("dtype == 'f16' and flag and flag == true and not false"));
  EXPECT_TRUE(holds("sms >= 108", 108));
  EXPECT_FALSE(holds("sms > 108", 108));
}

TEST(Condition, IsAnExpressionOfSqlite) {
  EXPECT_TRUE(holds("sms in (27, 54) and dtype like 'F%' and max(sms, 60) = 60"));
  EXPECT_TRUE(holds("sms between 50 and 60 -- a comment"));
  EXPECT_TRUE(holds("[sms] == 54 and `sms` == 54 and 'sms' != '[sms'"));
  EXPECT_TRUE(holds("\"sms\" / 4 == 13.5")) << "numbers of axes are doubles";
  EXPECT_FALSE(holds("sms == 'f16'")) << "a number is no word";
  EXPECT_TRUE(holds("check == 1 and 'check' == 'check'")) << "an axis called as a keyword is";
}

TEST(Condition, RefusesWhatIsNoExpressionAndSaysWhere) {
  refused("", "an operand is missing");
  refused("smss > 3", "unknown axis 'smss' (nearest valid: 'sms'");
  refused("\"smss\" > 3", "unknown axis 'smss'");
  refused("sms >", "an operand is missing");
  refused("not", "in 'not': an operand is missing at the end");
  refused("1 + -", "in '1 + -': an operand is missing at the end");
  refused("(sms > 3", "a ')' is missing");
  refused("sms > 3)", "syntax error");
  refused("sms ! 3", "unrecognized token");
  refused("dtype == 'f16", "does not end");
  refused("dtype", "a word stands where a number belongs");
  refused(std::string(5000, '1'), "at most 4096");
  refused(std::string(2000, '(') + "1" + std::string(2000, ')'), "in '");
}

TEST(Condition, RefusesWhatIsMoreThanAnExpressionOverThePoint) {
  refused("sms > ?", "more than one expression");
  refused("sms > :x", "more than one expression");
  refused("1) FROM point; DROP TABLE point; --", "more than one expression");
  refused("1, 2", "");
  refused("length(zeroblob(1000000000)) > 0", "it holds no SELECT, reads only the axes");
  refused("random() > 0", "it holds no SELECT, reads only the axes");
  refused("(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)",
          "it holds no SELECT, reads only the axes");
  for (const std::string_view text : {"(select 1)", "exists(select 1)", "sms in (select 54)", "sms in (values (54))",
                                      "(with t(x) as (values (0), (1)) select max(a.x) from t a, t b) > 0"}) {
    refused(text, "it holds no SELECT, reads only the axes");
  }
  refused(std::string_view("1\0", 2), "NUL");
}

TEST(Condition, RefusesArithmeticWithoutAResultAndSaysWhere) {
  for (const std::string text : {"1/0 == 1", "0/0 != 0", "sms % (sms - 54) == 0"}) {
    refused(text, "in '" + text + "': gives no number at a point (a division by 0?)");
  }
  EXPECT_FALSE(holds("sms != 54 and 1 / (sms - 54) > 0")) << "what `and` guards does not count";
}

}  // namespace
}  // namespace sptc::sweep
