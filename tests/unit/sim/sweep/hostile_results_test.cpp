// SPDX-License-Identifier: Apache-2.0
// Results that somebody prepared: reading them runs nothing that they hold, and touches no file.
#include "sim/sweep/results_file.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_status.h"
#include "sim/sweep/sweep_store.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/put_file.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

namespace sptc::sweep {
namespace {

namespace fs = std::filesystem;

class HostileResults : public testing::Test {
 protected:
  support::TemporaryDirectory directory;
  const fs::path file = directory.path() / "r.sqlite";
  const fs::path victim = directory.path() / "victim";
  const SweepPlan plan = make_plan();

  static void fill(PointOutcome& outcome) {
    outcome.totals.add({"sparse", "time_us"}, 1.5 + static_cast<double>(outcome.position));
    outcome.totals.add({"speedup"}, 1.25);
  }
  static void add_points(SweepStore& store, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t position = first; position < end; ++position) {
      PointOutcome outcome;
      outcome.position = position;
      fill(outcome);
      store.add({&outcome, 1});
    }
  }

  void SetUp() override {
    store_points(file, plan, fill);
    support::put_file(victim, "of somebody else");
  }

  static std::string bytes(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  /// All files of the directory and what they hold.
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(directory.path())) {
      all[entry.path().filename().string()] = bytes(entry.path());
    }
    return all;
  }

  /// What the readers say of `results`.
  static std::string read(const fs::path& results) {
    const fs::path parts[] = {results};
    return status_text(sweep_status(parts)) + sweep_report(results, "csv");
  }

  /// All readers and the writer refuse the file with `problem`, and nothing changes.
  void expect_refused(const std::string& problem) const {
    const auto before = everything();
    const fs::path parts[] = {file};
    const fs::path merged = directory.path() / "merged.sqlite";
    support::expect_input_error([&] { read(file); }, {problem});
    support::expect_input_error([&] { merge_sweeps(parts, merged, true); }, {problem});
    support::expect_input_error([&] { SweepStore(file, plan, {}); }, {problem});
    EXPECT_EQ(everything(), before) << problem;
  }

  void execute(const std::string& sql) const { Database(file, Database::Mode::kWrite).execute(sql); }

  static std::string big_endian(std::uint32_t value) {
    std::string four;
    for (const int shift : {24, 16, 8, 0}) {
      four += static_cast<char>(value >> shift & 0xFF);
    }
    return four;
  }

  /// A journal without pages that, played back, removes the file `named`.
  void put_journal(const fs::path& named) const {
    constexpr std::uint32_t kPage = 4096, kSector = 512, kNonce = 7;
    const std::string magic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", name = named.string();
    ASSERT_EQ(bytes(file).substr(16, 2), std::string("\x10\0", 2)) << "pages of another size";
    std::string journal = magic + big_endian(0) + big_endian(kNonce) +
                          big_endian(static_cast<std::uint32_t>(fs::file_size(file) / kPage)) + big_endian(kSector) +
                          big_endian(kPage);
    journal.resize(kSector);
    std::uint32_t of_name = 0;
    for (const char c : name) {
      of_name += static_cast<unsigned char>(c);
    }
    journal += big_endian((std::uint32_t{1} << 30) / kPage + 1) + name +
               big_endian(static_cast<std::uint32_t>(name.size())) + big_endian(of_name) + magic;
    support::put_file(file.string() + "-journal", journal);
  }
};

TEST_F(HostileResults, AJournalThatNamesAFileIsNotPlayedBack) {
  const std::string text = read(file);
  put_journal(victim);
  const auto before = everything();
  EXPECT_EQ(read(file), text);
  const fs::path parts[] = {file}, merged = directory.path() / "merged.sqlite";
  EXPECT_EQ(merge_sweeps(parts, merged, false), 12U);
  fs::remove(merged);
  // Where SQLite would write it would play back first.
  support::expect_input_error([&] { SweepStore(file, plan, {}); }, {"r.sqlite-journal: another program was ended"});
  EXPECT_EQ(everything(), before);
}

TEST_F(HostileResults, AJournalLongEnoughForAPageIsRefusedForTheFileMayBeHalfWritten) {
  support::put_file(file.string() + "-journal", std::string(2000, 'x'));
  expect_refused("r.sqlite-journal: another program was ended");
}

TEST_F(HostileResults, WhatNoSweepHasDeclaredIsRefused) {
  const std::string good = bytes(file);
  const std::string endless =
      "WITH RECURSIVE r(position) AS (SELECT 0 UNION ALL SELECT position + 1 FROM r) SELECT * FROM "
      "r";
  const auto expect_each_refused = [&](const std::vector<std::string>& statements, const std::string& problem) {
    support::put_file(file, good);
    for (const std::string& sql : statements) {
      execute(sql);
    }
    expect_refused("damaged results of a sweep: " + problem);
  };
  const auto none = [](const std::string& what) { return "its " + what + " is none of the tables of a sweep"; };
  const auto undeclared = [](const std::string& table) {
    return "table '" + table + "' is not declared as a sweep declares it";
  };
  expect_each_refused({"DROP TABLE points", "CREATE VIEW points AS " + endless}, none("view 'points'"));
  expect_each_refused({"CREATE VIEW other AS " + endless}, none("view 'other'"));
  expect_each_refused({"CREATE TRIGGER t AFTER INSERT ON points BEGIN DELETE FROM points; END"}, none("trigger 't'"));
  expect_each_refused({"CREATE INDEX i ON points(hex(zeroblob(1000000)))"}, none("index 'i'"));
  expect_each_refused({"CREATE TABLE pragma_table_info(name)"}, none("table 'pragma_table_info'"));
  expect_each_refused({"ALTER TABLE points ADD COLUMN more TEXT AS (hex(zeroblob(1000)))"}, undeclared("points"));
  expect_each_refused({"ALTER TABLE operations ADD COLUMN more CHECK (more < 3)"}, undeclared("operations"));
  expect_each_refused({"ALTER TABLE points ADD COLUMN more DEFAULT 9"}, undeclared("points"));
  expect_each_refused({"ALTER TABLE sweep RENAME TO old", "CREATE TABLE sweep(key TEXT, value TEXT)",
                       "INSERT INTO sweep SELECT * FROM old", "DROP TABLE old"},
                      undeclared("sweep"));
}

TEST_F(HostileResults, RowsThatAreInTheLogAloneAreReadAndNothingIsWritten) {
  const fs::path copy = directory.path() / "copy.sqlite";
  std::string text;
  {
    const fs::path running = directory.path() / "running.sqlite";
    SweepStore store(running, plan, {});
    add_points(store, 0, 7);
    text = read(running);
    for (const std::string end : {"", "-wal"}) {  // as after a kill
      fs::copy_file(running.string() + end, copy.string() + end);
    }
  }
  EXPECT_NE(text.find("7 done, 0 failed, 5 missing"), std::string::npos) << text;
  fs::remove(directory.path() / "running.sqlite");
  const auto before = everything();
  const std::string of_copy = read(copy);
  EXPECT_NE(of_copy.find("7 done, 0 failed, 5 missing"), std::string::npos) << of_copy;
  EXPECT_EQ(everything(), before) << "reading leaves no -shm, and the log as it is";
  // A log whose end was not written holds what came before.
  const std::string log = bytes(copy.string() + "-wal");
  std::string last = of_copy;
  for (const double share : {0.9, 0.7}) {
    support::put_file(copy.string() + "-wal",
                      log.substr(0, static_cast<std::size_t>(share * static_cast<double>(log.size()))));
    const std::string part = read(copy);
    EXPECT_LE(part.size(), last.size());
    last = part;
  }
  support::put_file(copy.string() + "-wal", log);
  SweepStore again(copy, plan, {});
  EXPECT_EQ(again.size(), 7U) << "the sweep goes on with the same rows";
}

TEST_F(HostileResults, RowsThatCameByManyLogsAreRead) {
  const fs::path running = directory.path() / "running.sqlite";
  SweepStore store(running, plan, {});
  for (std::uint64_t position = 0; position < 12; ++position) {
    add_points(store, position, position + 1);
    const std::string text = read(running);
    EXPECT_NE(text.find(fmt::format("{} done", position + 1)), std::string::npos) << text;
    if (position % 3 == 2) {
      Database(running, Database::Mode::kWrite).execute("PRAGMA wal_checkpoint");
    }
  }
}

TEST_F(HostileResults, WhatLiesBesideIsNoLink) {
  for (const char* const end : {"-journal", "-wal", "-shm", ".run", ".timing"}) {
    const fs::path beside = file.string() + end;
    const bool is_read = std::string_view(end).starts_with("-");
    for (const bool hard : {false, true}) {
      hard ? fs::create_hard_link(victim, beside) : fs::create_symlink(victim, beside);
      const std::string problem =
          beside.string() + (hard ? ": is a file that has another name" : ": not a regular file");
      if (is_read) {
        expect_refused(problem);
      } else {
        const auto before = everything();
        support::expect_input_error([&] { SweepStore(file, plan, {}); }, {problem});
        EXPECT_EQ(everything(), before);
      }
      fs::remove(beside);
    }
  }
}

TEST_F(HostileResults, AFileThatIsWrittenToWhileItIsReadIsRefused) {
  Database results = open_sweep(file);
  ResultRows rows(results, points_layout(read_entries(results).axes));
  ASSERT_TRUE(rows.step());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // times of files are as coarse
  execute("UPDATE points SET speedup = 2");
  support::expect_input_error(
      [&] {
        while (rows.step()) {
        }
      },
      {"r.sqlite: was written to while it was read"});
}

}  // namespace
}  // namespace sptc::sweep
