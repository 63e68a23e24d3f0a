// SPDX-License-Identifier: Apache-2.0
// Whatever the tables of a file of results hold, a report and a merge of it end, with a value or
// InputError. tests/fuzz/corpus_test.cpp changes its bytes.
#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/sweep/results_file.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_store.h"
#include "tests/fuzz/mutate.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace sptc::fuzz {
namespace {

class FuzzResults : public testing::Test {
 protected:
  support::TemporaryDirectory directory;
  std::filesystem::path whole = directory.path() / "whole.sqlite";
  std::filesystem::path mutated = directory.path() / "mutated.sqlite";
  std::filesystem::path merged = directory.path() / "merged.sqlite";

  void SetUp() override {
    const sweep::SweepPlan plan = sweep::make_plan({{"description", "of a test"}});
    sweep::store_points(whole, plan, [](sweep::PointOutcome& outcome) {
      const auto position = static_cast<double>(outcome.position);
      outcome.failed = outcome.position == 5;
      outcome.reason = outcome.failed ? "why" : "";
      outcome.notes = "a note";
      outcome.totals.add({"sparse", "time_us"}, 1.5 + position);
      outcome.totals.add({"sparse", "energy_uj"}, 9.0 - position);
      outcome.totals.add({"speedup"}, 1.25);
      for (const char* const variant : {"dense", "sparse"}) {
        sweep::PointFigures& row = outcome.operations.emplace_back();
        row.add({"operation"}, std::int64_t{0});
        row.add({"variant"}, variant);
        row.add({"kernel_tile"}, "128x128x32");
        row.add({"time_us"}, 1.5);
      }
    });
  }

  void use() const {
    for (const char* const format : {"csv", "markdown", "html"}) {
      sweep::sweep_report(mutated, format);
    }
    const std::array<std::filesystem::path, 2> parts = {mutated, whole};
    sweep::merge_sweeps(parts, merged, true);
  }

  /// Reads files that `mutate` made.
  void fuzz(std::uint64_t inputs, const std::function<void(std::uint64_t index)>& mutate) const {
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    for (std::uint64_t index = 0; index < inputs; ++index) {
      mutate(index);
      try {
        use();
        ++accepted;
      } catch (const base::InputError& error) {
        ++refused;
        EXPECT_FALSE(std::string_view(error.what()).empty()) << "mutation " << index;
      } catch (const std::exception& error) {
        FAIL() << "mutation " << index << " made a reader throw: " << error.what();
      }
    }
    EXPECT_GT(accepted, 0u) << "the mutations never reach past the first check";
    EXPECT_GT(refused, 0u);
  }
};

TEST_F(FuzzResults, TablesColumnsCellsAndEntries) {
  const base::RandomStream random(20260102);
  const std::string spec =
      sweep::read_entries(*std::make_unique<sweep::Database>(sweep::open_sweep(whole))).text("spec");
  const Mutator mutator(spec, 20260103);
  const std::vector<std::string> values = {"NULL",     "'x'",   "x'00'", "9e999",
                                           "-1",       "'NaN'", "0",     "4611686018427387904",
                                           "'failed'", "''",    "1e308", "json_array(1, NULL)"};
  fuzz(300, [&](std::uint64_t index) {
    std::filesystem::copy_file(whole, mutated, std::filesystem::copy_options::overwrite_existing);
    sweep::Database database(mutated, sweep::Database::Mode::kWrite);
    const auto draw = [&](std::uint64_t number, std::uint64_t below) {
      return random.below(index * 8 + number, below);
    };
    const std::string table = std::array{"points", "points", "operations", "sweep"}[draw(0, 4)];
    std::vector<std::string> names;
    for (const std::string& name : sweep::columns_of(database, table)) {
      names.push_back(sweep::sql_name(name));
    }
    const std::string& name = names[draw(1, names.size())];
    const std::string& value = values[draw(2, values.size())];
    const std::string row = std::to_string(draw(3, 14));
    const std::array<std::string, 8> changes = {
        "DROP TABLE " + table,
        "ALTER TABLE " + table + " DROP COLUMN " + name,
        "ALTER TABLE " + table + " RENAME COLUMN " + name + " TO x" + row,
        "UPDATE OR REPLACE " + table + " SET " + name + " = " + value,
        "UPDATE OR REPLACE points SET " + name + " = " + value + " WHERE position = " + row,
        "DELETE FROM sweep WHERE length(key) = " + row,
        "UPDATE sweep SET value = " + value + " WHERE length(key) = " + row,
        "DELETE FROM " + table + " WHERE " + name + " <> " + value};
    const std::uint64_t change = draw(4, changes.size() + 1);
    try {
      if (change < changes.size()) {
        database.execute(changes[change]);
      } else {
        sweep::Statement update = database.prepare("UPDATE sweep SET value = ? WHERE key = 'spec'");
        const std::string text = mutator.mutation(index);
        update.bind(1, std::string_view(text));
        update.step();
      }
    } catch (const base::InputError&) {  // SQLite refuses it: the file stays whole
    }
  });
}

}  // namespace
}  // namespace sptc::fuzz
