// SPDX-License-Identifier: Apache-2.0
// Results of a sweep that somebody damaged end in a sentence, whoever reads them.
#include "sim/sweep/results_file.h"

#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_store.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <fmt/format.h>

#include <array>

namespace sptc::sweep {
namespace {

class ResultsFile : public testing::Test {
 protected:
  support::TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "r.sqlite";

  /// Twelve points, in order, with an operation each.
  void SetUp() override {
    store_points(file, make_plan(), [](PointOutcome& outcome) {
      outcome.totals.add({"sparse", "time_us"}, 1.5);
      outcome.totals.add({"speedup"}, 1.25);
      PointFigures& row = outcome.operations.emplace_back();
      row.add({"operation"}, std::int64_t{0});
      row.add({"variant"}, "sparse");
      row.add({"time_us"}, 1.5);
    });
  }

  /// A copy of the file after `sql`.
  std::filesystem::path damaged(const std::string& sql) const {
    const std::filesystem::path copy = directory.path() / "damaged.sqlite";
    std::filesystem::copy_file(file, copy, std::filesystem::copy_options::overwrite_existing);
    Database(copy, Database::Mode::kWrite).execute(sql);
    return copy;
  }

  static void report(const std::filesystem::path& results) {
    for (const char* const format : {"markdown", "html"}) {
      sweep_report(results, format);
    }
  }
  void merge(const std::filesystem::path& results) const {
    const std::array<std::filesystem::path, 2> parts = {results, file};
    merge_sweeps(parts, directory.path() / "merged.sqlite", false);
  }

  void expect_refused(const std::string& sql, const std::string& problem) const {
    const std::filesystem::path copy = damaged(sql);
    const std::string sentence = copy.string() + ": damaged results of a sweep: " + problem;
    EXPECT_EQ(support::input_error_of([&] { report(copy); }), sentence) << sql;
    EXPECT_EQ(support::input_error_of([&] { merge(copy); }), sentence) << sql;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 2)
        << "a merge that was refused leaves no file";
  }
  void expect_merge_refused(const std::string& sql, const std::string& problem) const {
    support::expect_input_error([&] { merge(damaged(sql)); }, {"damaged results of a sweep: " + problem});
  }
};

TEST_F(ResultsFile, ACellOfAnotherTypeOrRangeIsRefused) {
  expect_refused("UPDATE points SET speedup = 'x' WHERE position = 3",
                 "table 'points', position 3: 'speedup' is not a finite number");
  expect_refused("UPDATE points SET sparse_time_us = 9e999 WHERE position = 2",
                 "table 'points', position 2: 'sparse_time_us' is not a finite number");
  expect_refused("UPDATE points SET sms = NULL WHERE position = 1",
                 "table 'points', position 1: 'sms' is not a value of an axis");
  expect_refused("UPDATE points SET workload = x'00' WHERE position = 1",
                 "table 'points', position 1: 'workload' is not a value of an axis");
  expect_refused("UPDATE points SET status = 'maybe' WHERE position = 0",
                 "table 'points', position 0: 'status' is not 'done' or 'failed'");
  expect_refused("UPDATE points SET notes = x'41' WHERE position = 0",
                 "table 'points', position 0: 'notes' is not text");
  expect_refused("UPDATE points SET position = -1 WHERE position = 11",
                 "table 'points', position -1: 'position' is not a whole number from 0");
}

TEST_F(ResultsFile, AMissingTableOrColumnIsRefused) {
  expect_refused("ALTER TABLE points RENAME COLUMN status TO statuS", "table 'points' has no column 'status'");
  expect_refused("ALTER TABLE points RENAME COLUMN seed TO seek", "table 'points' has no column 'seed'");
  expect_refused("ALTER TABLE operations DROP COLUMN variant", "table 'operations' has no column 'variant'");
  expect_refused("DROP TABLE operations", "table 'operations' is missing, and there is 'points'");
  expect_refused("DROP TABLE points", "table 'points' is missing, and there is 'operations'");
}

TEST_F(ResultsFile, AMissingOrDamagedEntryIsRefused) {
  expect_refused("DELETE FROM sweep WHERE key = 'name'", "its table 'sweep' has no entry 'name'");
  expect_refused("UPDATE sweep SET value = NULL WHERE key = 'digest'",
                 "an entry of its table 'sweep' is no text, or there twice");
  expect_refused("UPDATE sweep SET value = substr(value, 2) WHERE key = 'spec'", "its entry 'spec' is no JSON");
  expect_refused("UPDATE sweep SET value = '[]' WHERE key = 'spec'", "its entry 'spec' is no JSON object");
  expect_refused("UPDATE sweep SET value = '{\"description\": 1}' WHERE key = 'spec'",
                 "the 'description' in its entry 'spec' is no text");
  expect_refused("UPDATE sweep SET value = '12.' WHERE key = 'points'", "its entry 'points' is no number of points");
  for (const char* const axes : {"{}", "[1]", "[\"sms\", \"SMS\"]", "[\"position\"]"}) {
    expect_refused(fmt::format("UPDATE sweep SET value = '{}' WHERE key = 'axes'", axes),
                   "its entry 'axes' is no list of the names of columns");
  }
}

TEST_F(ResultsFile, MergeRefusesOperationsThatBelongToNoPointOrAreOutOfOrder) {
  expect_merge_refused("DELETE FROM points WHERE position = 4", "table 'operations', position 4: belongs to no point");
  expect_merge_refused("DELETE FROM points WHERE position = 11",
                       "table 'operations', position 11: belongs to no point");
  expect_merge_refused("UPDATE operations SET position = 7 WHERE position = 4",
                       "table 'operations', position 5: comes after position 7");
  expect_merge_refused("UPDATE operations SET time_us = 'x' WHERE position = 4",
                       "table 'operations', position 4: 'time_us' is not a figure like those before");
}

TEST_F(ResultsFile, OfAnotherBuildIsContinuedOrMergedOnlyWhereThatIsAllowed) {
  const std::filesystem::path other = damaged("UPDATE sweep SET value = 'f00d' WHERE key = 'build'");
  const std::filesystem::path merged = directory.path() / "merged.sqlite";
  const std::array<std::filesystem::path, 2> parts = {other, file};
  EXPECT_EQ(support::input_error_of([&] { merge_sweeps(parts, merged, false); }),
            other.string() + " and " + file.string() +
                " come from different builds of the program, whose results may differ; "
                "--mixed-builds merges them all the same");
  EXPECT_FALSE(std::filesystem::exists(merged));
  EXPECT_EQ(merge_sweeps(parts, merged, true), 12U);

  const SweepPlan plan = make_plan();
  EXPECT_EQ(support::input_error_of([&] { SweepStore(other, plan, {}); }),
            other.string() +
                ": was begun by another build of the program, whose results may differ; give "
                "another file with --db, or --mixed-builds to go on with this one");
  SweepStore::Options options;
  options.mixed_builds = true;
  EXPECT_EQ(SweepStore(other, plan, options).size(), 12U);
}

TEST_F(ResultsFile, MergeRefusesTwoResultsOfOnePoint) {
  const std::filesystem::path other = damaged("UPDATE points SET speedup = 9.5 WHERE position = 3");
  EXPECT_EQ(support::input_error_of([&] { merge(other); }),
            other.string() + " and " + file.string() + " have different results for point 3");
}

}  // namespace
}  // namespace sptc::sweep
