// SPDX-License-Identifier: Apache-2.0
//
// What a sweep stores when points crash, hang, take too much memory or when the store cannot be
// written, with a simulator that does so on request.
#include "models/base/error.h"
#include "sim/sweep/coordinator.h"
#include "sim/sweep/point.h"
#include "sim/sweep/results_file.h"
#include "sim/sweep/sweep_status.h"
#include "tests/support/database_rows.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/json_schema.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/sim/sweep/sweep_fixture.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace sptc::sweep {
namespace {

using nlohmann::json;

/// Does what the option "act" says.
class Actor : public PointRunner {
 public:
  bool isolated = true;

  bool needs_process(const SweepPoint& /*point*/) const override { return isolated; }
  double estimated_seconds(const SweepPlan& /*plan*/, const SweepPoint& point) const override {
    return static_cast<double>(point.position);
  }
  PointOutcome run(const SweepPlan& /*plan*/, const SweepPoint& point) override {
    const auto act = point.options.find("act");
    const std::string what = act == point.options.end() ? "answer" : act->second;
    if (what == "abort") {
      ::raise(SIGKILL);
    } else if (what == "exit") {
      ::_exit(7);
    } else if (what == "hang") {
      std::this_thread::sleep_for(std::chrono::seconds(60));
    } else if (what == "grow") {
      const std::size_t bytes = std::size_t{1} << 33;
      std::vector<char> memory(bytes, 1);
      return {point.position, memory[bytes / 2] == 0, "", {}};
    } else if (what == "refuse") {
      throw base::InputError("not with me");
    }
    PointOutcome outcome;
    outcome.totals.add({"sparse", "time_us"}, static_cast<std::int64_t>(point.position + 1));
    outcome.totals.add({"speedup"}, 1.5);
    outcome.totals.add({"area_mm2"}, 7.5);
    outcome.notes = "a note";
    for (const char* variant : {"dense", "sparse"}) {
      PointFigures& row = outcome.operations.emplace_back();
      row.add({"operation"}, std::int64_t{0});
      row.add({"variant"}, variant);
      row.add({"kernel", "tile"}, "128x128x32");
      row.add({"time_us"}, 0.5 + static_cast<double>(point.position));
    }
    return outcome;
  }
};

class SweepRun : public testing::Test {
 protected:
  support::TemporaryDirectory directory;
  Actor actor;
  std::atomic<bool> stop{false};

  std::filesystem::path file(const std::string& name) const { return directory.path() / name; }

  static std::string bytes(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string rows(const std::string& name) const { return support::database_rows(file(name)); }

  SweepProgress run(const SweepPlan& plan, const std::string& name, const SweepShard& shard = {},
                    const PointLimits& limits = {}, std::size_t jobs = 2) {
    SweepStore store(file(name), plan, {});
    const SweepProgress progress = run_sweep({plan, actor, limits, jobs, stop}, shard, store);
    EXPECT_TRUE(progress.in_order);
    return progress;
  }

  std::string reason(const std::string& name, const std::string& act) {
    Database database = open_sweep(file(name));
    return database.value("SELECT reason FROM points WHERE act = '" + act + "'");
  }
};

json acts(std::initializer_list<const char*> words) {
  return {{"axes", {{{"option", "act"}, {"values", words}}}}, {"workloads", {{{"m", 16}, {"n", 16}, {"k", 16}}}}};
}

TEST_F(SweepRun, StoresEveryPointOnceWithItsTotalsAsColumnsAndItsOperations) {
  const SweepPlan plan = make_plan();
  const SweepProgress progress = run(plan, "a.sqlite");
  EXPECT_EQ(progress.done, 12u);
  Database database = open_sweep(file("a.sqlite"));
  EXPECT_EQ(database.value("SELECT count(*) FROM points WHERE status = 'done'"), "12");
  EXPECT_EQ(database.value("SELECT sparse_time_us FROM points WHERE sms = 108 AND seed = 2 AND "
                           "workload = '16x16x16'"),
            "4");
  EXPECT_EQ(database.value("SELECT hash FROM points WHERE position = 5"), plan.hash(plan.point(5)));
  EXPECT_EQ(database.value("SELECT count(*) FROM operations"), "24");
  EXPECT_EQ(database.value("SELECT sum(time_us - position) FROM operations"), "12.0");
  EXPECT_EQ(database.value("SELECT kernel_tile FROM operations JOIN points USING (position) WHERE "
                           "position = 7 AND variant = 'sparse'"),
            "128x128x32");
  EXPECT_EQ(run(plan, "a.sqlite").done, 0u) << "a second run has nothing to do";
}

TEST_F(SweepRun, TheStatusCountsPointsOverAllPartsAndNamesWhoWorks) {
  const SweepPlan plan = make_plan(acts({"answer", "refuse", "x1", "x2"}));
  run(plan, "r.sqlite.1", {1, 2});
  const std::filesystem::path results[] = {file("r.sqlite")};
  const SweepStatus half = sweep_status(results);
  EXPECT_EQ(half.state(), "stopped");
  EXPECT_EQ(half.points, 4u);
  EXPECT_EQ(half.missing(), 2u);
  {
    const FileLock lock(file("r.sqlite.2"));
    RunMarker mark(file("r.sqlite.2"), {2, 2});
    SweepProgress progress;
    progress.total = 2;
    mark.update(progress);
    const SweepStatus running = sweep_status(results);
    EXPECT_EQ(running.state(), "running");
    ASSERT_EQ(running.parts.size(), 2u);
    EXPECT_FALSE(running.parts[0].running);
    ASSERT_TRUE(running.parts[1].running && running.parts[1].run);
    EXPECT_EQ(running.parts[1].run->pid, ::getpid());
    EXPECT_EQ(running.parts[1].run->shard, "2/2");
  }
  run(plan, "r.sqlite.2", {2, 2});
  run(plan, "r.sqlite.3", {2, 2});  // the same points once more
  const SweepStatus whole = sweep_status(results);
  EXPECT_EQ(whole.state(), "failed");
  EXPECT_EQ(whole.done, 3u);
  EXPECT_EQ(whole.failed, 1u);
  EXPECT_EQ(whole.parts.size(), 3u);
  const support::JsonSchema schema(json::parse(
      io::read_text_file(std::string(SPTC_SOURCE_DIR) + "/configs/schema/sweep-status.schema.json", 1 << 20)));
  EXPECT_EQ(schema.fault(json::parse(status_json(whole))), "");
  EXPECT_FALSE(std::filesystem::exists(file("r.sqlite.2.run")));
  run(make_plan(), "other.sqlite");
  const std::filesystem::path both[] = {file("r.sqlite"), file("other.sqlite")};
  support::expect_input_error([&] { sweep_status(both); }, {"are not of one sweep"});
  const std::filesystem::path none[] = {file("none")};
  support::expect_input_error([&] { sweep_status(none); }, {"no such file, and no shard"});
}

TEST_F(SweepRun, ACrashCostsOnePointAndTheReasonIsKept) {
  const SweepPlan plan = make_plan(acts({"answer", "abort", "exit", "refuse"}));
  const SweepProgress progress = run(plan, "a.sqlite");
  EXPECT_EQ(progress.done, 4u);
  EXPECT_EQ(progress.failures, 3u);
  EXPECT_NE(reason("a.sqlite", "abort").find("signal 9"), std::string::npos);
  EXPECT_NE(reason("a.sqlite", "exit").find("exit code 7"), std::string::npos);
  EXPECT_EQ(reason("a.sqlite", "refuse"), "not with me");
  EXPECT_EQ(reason("a.sqlite", "answer"), "");
}

TEST_F(SweepRun, AWorkerThatDiesIsReplacedAndItsOtherPointsAreSimulated) {
  actor.isolated = false;
  const SweepPlan plan = make_plan(acts({"answer", "abort", "refuse", "x1", "x2", "x3"}));
  const SweepProgress progress = run(plan, "a.sqlite", {}, {}, 1);
  EXPECT_EQ(progress.done, 6u);
  EXPECT_EQ(progress.failures, 2u);
  EXPECT_NE(reason("a.sqlite", "abort").find("the worker process was ended by signal 9"), std::string::npos);
}

TEST_F(SweepRun, TimeoutAndMemoryCapEndAPointAlone) {
  const SweepPlan plan = make_plan(acts({"answer", "hang", "grow"}));
  PointLimits limits;
  limits.timeout_s = 3.5;  // enough for the points that end
  limits.memory_mb = 512;
  const SweepProgress progress = run(plan, "a.sqlite", {}, limits);
  EXPECT_EQ(progress.failures, 2u);
  EXPECT_EQ(reason("a.sqlite", "hang"), "not done after the timeout of 3.5 s");
  if (!support::kSanitizedAllocator) {  // which ends the process
    EXPECT_EQ(reason("a.sqlite", "grow"), "not enough memory");
  }
}

TEST_F(SweepRun, GoesOnWhereAnInterruptedSweepEnded) {
  const SweepPlan plan = make_plan();
  run(plan, "whole.sqlite");
  {
    // As after a kill: some rows there, no rewriting at the end.
    SweepStore store(file("a.sqlite"), plan, {});
    Actor single;
    for (const std::uint64_t position : {7, 2, 11}) {
      const PointOutcome outcome = run_point(plan, single, position);
      store.add({&outcome, 1});
    }
  }
  const SweepProgress progress = run(plan, "a.sqlite");
  EXPECT_EQ(progress.reused, 3u);
  EXPECT_EQ(progress.done, 9u);
  EXPECT_EQ(rows("a.sqlite"), rows("whole.sqlite"));
}

TEST_F(SweepRun, PointsWithoutAProcessGiveTheSameRowsForAnyNumberOfJobs) {
  const SweepPlan plan = make_plan();
  run(plan, "isolated.sqlite");  // each in a process, the longest first
  actor.isolated = false;
  for (const std::size_t jobs : {1, 3}) {
    const std::string name = fmt::format("{}.sqlite", jobs);
    run(plan, name, {}, {}, jobs);
    EXPECT_EQ(rows(name), rows("isolated.sqlite")) << jobs << " jobs";
  }
}

TEST_F(SweepRun, RefusesAnotherSweepASecondWriterAndForeignFiles) {
  const SweepPlan plan = make_plan();
  run(plan, "a.sqlite");
  const SweepPlan other = make_plan({{"where", "sms < 100"}});
  support::expect_input_error([&] { SweepStore(file("a.sqlite"), other, {}); }, {"another sweep"});
  SweepStore first(file("a.sqlite"), plan, {});
  support::expect_input_error([&] { SweepStore(file("a.sqlite"), plan, {}); },
                              {"another sweep is writing to this file"});
  io::write_file(file("text.sqlite"), "no database at all, but long enough to be looked at by SQLite");
  support::expect_input_error([&] { SweepStore(file("text.sqlite"), plan, {}); }, {"no results of a sweep"});
  support::expect_input_error([&] { SweepStore(file("no/where.sqlite"), plan, {}); }, {"no directory"});
  support::expect_input_error([&] { SweepStore(directory.path(), plan, {}); }, {"cannot be written"});
}

TEST_F(SweepRun, AFileWithoutARowGivesWayToAnotherSweep) {
  const SweepPlan plan = make_plan({{"where", "'x'"}});
  support::expect_input_error([&] { run(plan, "a.sqlite"); }, {"a word stands where a number belongs"});
  run(make_plan(), "a.sqlite");
  run(make_plan(), "b.sqlite");
  EXPECT_EQ(rows("a.sqlite"), rows("b.sqlite"));
}

TEST_F(SweepRun, AnAxisMayHaveTheNameOfATotalInUpperOrLowerCase) {
  run(make_plan({{"axes", {{{"option", "seed"}, {"name", "Area_mm2"}, {"values", {1, 2}}}}}}), "a.sqlite");
  Database database = open_sweep(file("a.sqlite"));
  EXPECT_EQ(database.value("SELECT count(DISTINCT Area_mm2) FROM points"), "2");
}

// A sweep that ends puts the file in order in the place of the one that another sweep waits for.
TEST_F(SweepRun, TheLockIsOnTheFileThatTheNameMeansWhenTheWaitIsOver) {
  auto first = std::make_unique<FileLock>(file("a.sqlite"));
  bool locked = false;
  std::thread second([&] {
    std::unique_ptr<FileLock> lock;
    while (lock == nullptr) {
      try {
        lock = std::make_unique<FileLock>(file("a.sqlite"));
      } catch (const base::InputError&) {  // waited for too long
      }
    }
    const int third = ::open(file("a.sqlite").c_str(), O_RDWR | O_CLOEXEC);
    locked = ::flock(third, LOCK_EX | LOCK_NB) != 0;
    ::close(third);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // in which it begins to wait
  io::write_file(file("in order"), "");
  std::filesystem::rename(file("in order"), file("a.sqlite"));
  first.reset();
  second.join();
  EXPECT_TRUE(locked);
}

TEST_F(SweepRun, AFinishedFileThatAKilledSweepHadBegunToWriteToIsFinishedAgain) {
  const SweepPlan plan = make_plan();
  run(plan, "a.sqlite");
  const std::string whole = rows("a.sqlite");
  Database(file("a.sqlite"), Database::Mode::kWrite).execute("PRAGMA journal_mode = WAL");
  constexpr std::size_t kReadVersion = 19;  // in the head of the file: 2 where it has a log
  ASSERT_EQ(bytes(file("a.sqlite"))[kReadVersion], 2);
  run(plan, "a.sqlite");
  EXPECT_EQ(bytes(file("a.sqlite"))[kReadVersion], 1);
  EXPECT_EQ(rows("a.sqlite"), whole);
}

TEST_F(SweepRun, MergeRefusesDifferentSweepsAndPrefersWhatIsDone) {
  const SweepPlan plan = make_plan(acts({"answer", "exit"}));
  run(plan, "a.sqlite");
  run(make_plan(), "b.sqlite");
  const std::vector<std::filesystem::path> parts = {file("a.sqlite"), file("b.sqlite")};
  support::expect_input_error([&] { merge_sweeps(parts, file("m.sqlite"), false); }, {"not of one sweep"});
  EXPECT_FALSE(std::filesystem::exists(file("m.sqlite")));
  {
    SweepStore store(file("c.sqlite"), plan, {});
    PointOutcome healed{1, false, "", {}};
    healed.totals.add({"speedup"}, 2.0);
    store.add({&healed, 1});
  }
  const std::vector<std::filesystem::path> healing = {file("a.sqlite"), file("c.sqlite")};
  EXPECT_EQ(merge_sweeps(healing, file("m.sqlite"), false), 2u);
  Database merged = open_sweep(file("m.sqlite"));
  EXPECT_EQ(merged.value("SELECT status FROM points WHERE act = 'exit'"), "done");
}

TEST(SweepWire, AnOutcomeSurvivesTheWayThroughAPipeInPieces) {
  PointOutcome outcome{42, true, "why", {}};
  outcome.totals.add({"a"}, std::int64_t{-1});
  outcome.totals.add({"b", "c"}, 0.1);
  outcome.operations.emplace_back().add({"variant"}, "dense");
  outcome.notes = std::string(1000, 'x');
  outcome.hash = "f00d";
  std::string whole;
  append_bytes(outcome, whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::string_view part = std::string_view(whole).substr(0, size);
    EXPECT_FALSE(take_outcome(part)) << size;
  }
  const std::string more = whole + std::string(200, '\xff');
  std::string_view rest = more;
  const auto back = take_outcome(rest);
  ASSERT_TRUE(back);
  EXPECT_EQ(rest.size(), 200u);
  EXPECT_FALSE(take_outcome(rest)) << "garbage";
  EXPECT_EQ(back->position, 42u);
  EXPECT_TRUE(back->failed);
  EXPECT_EQ(back->notes, outcome.notes);
  EXPECT_EQ(back->hash, "f00d");
  EXPECT_EQ(back->totals.names(), "a\nb_c\n");
  rest = back->totals.bytes();
  EXPECT_EQ(std::get<std::int64_t>(PointFigures::take(rest)), -1);
  EXPECT_EQ(std::get<double>(PointFigures::take(rest)), 0.1);
  EXPECT_TRUE(rest.empty());
  ASSERT_EQ(back->operations.size(), 1u);
  rest = back->operations[0].bytes();
  EXPECT_EQ(std::get<std::string_view>(PointFigures::take(rest)), "dense");
}

TEST(SweepProgress, ShowsRateFailuresAndTimeLeft) {
  SweepProgress progress;
  progress.total = 40;
  progress.reused = 10;
  progress.done = 10;
  progress.failures = 1;
  progress.seconds = 5;
  progress.seconds_left = 600;
  EXPECT_EQ(report::ProgressBar::line(progress.shown()),
            "[############............] 20/40, 1 failed, 2.0 points/s, 10 min left");
}

}  // namespace
}  // namespace sptc::sweep
