// SPDX-License-Identifier: Apache-2.0
//
// `sptcsim sweep` as a user meets it: killed, interrupted, in shards.
#include "tests/support/browser.h"
#include "tests/support/database_rows.h"
#include "tests/support/held_pipe.h"
#include "tests/support/program_process.h"
#include "tests/unit/sim/cli/program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using Outcome = sptc::support::ProgramOutcome;

class SweepProgram : public sptc::support::ProgramFixture {
 protected:
  void SetUp() override {
    // 32 points of a few milliseconds each.
    write("s.json", R"({"schema": "sptcsim-sweep/0.1", "name": "test",
      "workloads": [{"m": 64, "n": 64, "k": 64}, {"m": 128, "n": 64, "k": 64}],
      "options": {"check": "none", "fidelity": "timing"},
      "axes": [{"parameter": "/sms", "values": [1, 2]}, {"option": "dtype", "values": ["f16", "s8"]},
               {"parameter": "selector_inputs", "values": [2, 4]},
               {"option": "variants", "values": ["dense", "both"]}]})");
  }

  std::string rows(const std::string& name) const { return sptc::support::database_rows(path(name)); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }

  pid_t start(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all{"sweep"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return sptc::support::start_program(all, path("out"), path("err"));
  }
  static int wait(pid_t child) { return sptc::support::wait_for_program(child); }
  Outcome sweep(const std::vector<std::string>& arguments) const {
    const int exit_code = wait(start(arguments));
    return {exit_code, read(path("out")), read(path("err"))};
  }
  void expect_refused(const std::vector<std::string>& arguments, const std::string& part) const {
    const Outcome outcome = sweep(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    sptc::cli::expect_has(outcome.err, part);
  }

  /// The exit code of a sweep that goes on after one that was killed after `time`.
  int killed_and_repeated(const std::string& spec, const std::string& db, std::chrono::duration<double> time) const {
    const pid_t child = start({spec, "--db", db});
    std::this_thread::sleep_for(time);
    ::kill(child, SIGKILL);
    wait(child);
    return sweep({spec, "--db", db}).exit_code;
  }

  std::string undisturbed() const {
    EXPECT_EQ(sweep({path("s.json"), "--db", path("whole.sqlite")}).exit_code, 1)
        << "eight points fail: a selector of two inputs cannot run 2:4";
    return rows("whole.sqlite");
  }
};

// Twenty moments, drawn anew in no run: over the whole length of an undisturbed one.
TEST_F(SweepProgram, KilledAtTwentyMomentsAndRepeatedGivesTheRowsOfAnUndisturbedRun) {
  const auto start_time = std::chrono::steady_clock::now();
  const std::string whole = undisturbed();
  const auto length = std::chrono::steady_clock::now() - start_time;
  ASSERT_FALSE(whole.empty());
  std::mt19937 random(20261121);
  for (int i = 0; i < 20; ++i) {
    const std::string db = "killed" + std::to_string(i);
    const double share = static_cast<double>(random()) / static_cast<double>(random.max());
    EXPECT_EQ(killed_and_repeated(path("s.json"), path(db), length * share), 1);
    EXPECT_EQ(rows(db), whole) << "killed after " << share << " of the run";
  }
}

// As timeout(1) and schedulers send them, to all processes.
TEST_F(SweepProgram, SignalsToItsWorkersFailNoPoint) {
  const std::string whole = undisturbed();
  const pid_t program = start({path("s.json"), "--db", path("all.sqlite"), "--jobs", "2"});
  const std::string children = fmt::format("/proc/{0}/task/{0}/children", program);
  std::set<pid_t> workers;
  siginfo_t end{};
  while (::waitid(P_PID, program, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == 0) {
    std::ifstream file(children);
    for (pid_t worker = 0; file >> worker; workers.insert(worker)) {
      ::kill(worker, SIGTERM);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(wait(program), 1);
  EXPECT_EQ(workers.size(), 2U) << "none was lost";
  EXPECT_EQ(rows("all.sqlite"), whole);
}

TEST_F(SweepProgram, KilledAmongPointsWithoutAProcessOfTheirOwnItGoesOnWhereItWas) {
  write("quick.json", R"({"schema": "sptcsim-sweep/0.1", "name": "quick", "store": "totals",
      "workloads": [{"m": 256, "n": 256, "k": 256}],
      "options": {"check": "none", "fidelity": "analytic"},
      "axes": [{"parameter": "/sms", "range": {"from": 1, "to": 100, "step": 1}},
               {"parameter": "dram_gb_per_s", "range": {"from": 1000, "to": 1019, "step": 1}}]})");
  const auto start_time = std::chrono::steady_clock::now();
  ASSERT_EQ(sweep({path("quick.json"), "--db", path("quick.sqlite")}).exit_code, 0);
  const auto length = std::chrono::steady_clock::now() - start_time;
  for (const double share : {0.3, 0.5, 0.7, 0.9}) {
    const std::string db = "quick" + std::to_string(share);
    EXPECT_EQ(killed_and_repeated(path("quick.json"), path(db), length * share), 0);
    EXPECT_EQ(rows(db), rows("quick.sqlite")) << "killed after " << share << " of the run";
  }
}

TEST_F(SweepProgram, ShardsMergeToTheSameRows) {
  const std::string whole = undisturbed();
  for (const int shards : {1, 3, 7}) {
    std::vector<std::string> merge{"merge", "--out", path("m" + std::to_string(shards))};
    for (int i = 1; i <= shards; ++i) {
      const std::string shard = std::to_string(i) + "/" + std::to_string(shards);
      const std::string db = path("p" + std::to_string(shards) + "." + std::to_string(i));
      sweep({path("s.json"), "--db", db, "--shard", shard});
      merge.push_back(db);
    }
    EXPECT_EQ(sweep(merge).exit_code, 0);
    EXPECT_EQ(rows("m" + std::to_string(shards)), whole);
    expect_refused(merge, "exists");
  }
}

TEST_F(SweepProgram, AMergeLeavesTheFilesOfAnotherOneToTheSameResultsAlone) {
  const std::string whole = undisturbed();
  write("m.merging", "of another merge");
  std::vector<pid_t> merges;
  for (int i = 0; i < 4; ++i) {
    merges.push_back(start({"merge", path("whole.sqlite"), "--out", path("m")}));
  }
  for (const pid_t merge : merges) {
    const int code = wait(merge);
    EXPECT_TRUE(code == 0 || (code == 2 && rows("m") == whole)) << code;
  }
  EXPECT_EQ(rows("m"), whole);
  EXPECT_EQ(read(path("m.merging")), "of another merge");
}

TEST_F(SweepProgram, ResultsBehindALinkStayBehindIt) {
  const std::string whole = undisturbed();
  std::filesystem::create_symlink(path("target.sqlite"), path("link.sqlite"));
  EXPECT_EQ(sweep({path("s.json"), "--db", path("link.sqlite")}).exit_code, 1);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.sqlite")));
  EXPECT_EQ(rows("target.sqlite"), whole);
}

TEST_F(SweepProgram, APipeInThePlaceOfResultsIsRefused) {
  undisturbed();
  for (const char* const end : {"", "-journal", "-wal"}) {
    const std::string db = path(std::string("p") + end + ".sqlite");
    if (*end != '\0') {
      std::filesystem::copy_file(path("whole.sqlite"), db);
    }
    const std::string pipe = db + end;
    const sptc::support::HeldPipe held(pipe);
    expect_refused({"status", db}, pipe + ": not a regular file");
    expect_refused({"report", db}, pipe + ": not a regular file");
    expect_refused({"merge", db, "--out", path("m")}, pipe + ": not a regular file");
    expect_refused({path("s.json"), "--db", db}, pipe + ": not a regular file");
  }
}

TEST_F(SweepProgram, SaysHowManyPointsAreMissing) {
  const auto at = [&](const char* shard) {
    sweep({path("s.json"), "--db", path("p" + std::string(1, shard[0])), "--shard", shard});
  };
  at("1/2");
  const Outcome half = sweep({"merge", "--out", path("half"), path("p1"), path("p1")});
  EXPECT_EQ(half.exit_code, 0);
  sptc::cli::expect_has(half.err, "points of the sweep are missing");
  sptc::cli::expect_has(sweep({"report", path("half")}).out, "points of the sweep are missing");
  at("2/2");
  const Outcome whole = sweep({"merge", "--out", path("whole"), path("p1"), path("p2")});
  sptc::cli::expect_lacks(whole.err, "missing");
  sptc::cli::expect_lacks(sweep({"report", path("whole")}).out, "missing");
}

TEST_F(SweepProgram, PlansWithoutSimulating) {
  const Outcome plan = sweep({"plan", path("s.json"), "--first", "3"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  sptc::cli::expect_has(plan.out, "32 points of 32");
  sptc::cli::expect_has(plan.out, "29 more");
  sptc::cli::expect_has(plan.out, "32 points of 32; SystemC, all SMs; axes");
  sptc::cli::expect_has(plan.out, "in closed form (--fidelity analytic): about");
  sptc::cli::expect_lacks(plan.out, "without energies");
}

TEST_F(SweepProgram, APlanNamesDesignsWithoutEnergiesAndWhatHasNoClosedForm) {
  nlohmann::json own =
      nlohmann::json::parse(read(std::filesystem::path(SPTC_SOURCE_DIR) / "configs/a100-sxm4-80gb.json"));
  own["name"] = "own";
  write("own.json", own.dump());
  write("p.json",
        R"({"schema": "sptcsim-sweep/0.1", "name": "p", "arch": ["a100-sxm4-80gb", "own.json"],
      "workloads": [{"m": 64, "n": 64, "k": 64}],
      "axes": [{"option": "fidelity", "values": ["timing", "datapath"]}]})");
  const Outcome plan = sweep({"plan", path("p.json")});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  sptc::cli::expect_has(plan.out, "in closed form: not these points: the fidelity is an axis");
  sptc::cli::expect_has(plan.out, "without energies: own;");
}

TEST_F(SweepProgram, TheStatusTellsFromOutsideWhatASweepDoes) {
  write("long.json", R"({"schema": "sptcsim-sweep/0.1", "name": "long",
      "workloads": [{"m": 64, "n": 64, "k": 64}], "options": {"check": "none", "fidelity": "timing"},
      "axes": [{"option": "seed", "range": {"from": 1, "to": 3000, "step": 1}}]})");
  const pid_t child = start({path("long.json"), "--db", path("long.sqlite.1"), "--shard", "1/2"});
  const auto status = [&] {
    sptc::support::wait_for_program(sptc::support::start_program(
        {"sweep", "status", path("long.sqlite"), "--format", "json"}, path("s.out"), path("s.err")));
    return nlohmann::json::parse(read(path("s.out")), nullptr, false);
  };
  nlohmann::json now;
  for (int i = 0; i < 600; ++i) {
    now = status();
    if (now.is_object() && now["parts"][0]["run"].is_object()) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(now.is_object()) << read(path("s.err"));
  EXPECT_EQ(now["state"], "running") << now;
  EXPECT_EQ(now["points"], 3000);
  EXPECT_EQ(now["parts"][0]["run"]["shard"], "1/2");
  EXPECT_EQ(now["parts"][0]["run"]["pid"], child);
  ::kill(child, SIGKILL);
  wait(child);
  for (int i = 0; i < 300 && status()["state"] != "stopped"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // its workers end after it
  }
  const Outcome stopped = sweep({"status", path("long.sqlite")});
  EXPECT_EQ(stopped.exit_code, 1);
  sptc::cli::expect_has(stopped.out, "was stopped on");
  expect_refused({"status", path("nothing.sqlite")}, "no such file, and no shard");
  expect_refused({"status", path("long.json")}, "no results of a sweep");
}

TEST_F(SweepProgram, EmitsScriptsThatRun) {
  const std::string whole = undisturbed();
  for (const char* kind : {"slurm", "gnu-parallel"}) {
    const Outcome script = sweep({"emit", kind, path("s.json"), "--shards", "3", "--db", path("it's here.sqlite")});
    EXPECT_EQ(script.exit_code, 0) << script.err;
    write("job.sh", script.out);
    EXPECT_EQ(std::system(("bash -n " + path("job.sh")).c_str()), 0) << script.out;
    if (std::string(kind) == "slurm") {
      // What Slurm would do: one task after the other.
      for (const char* task : {"2", "1", "3"}) {
        const std::string command =
            std::string("SLURM_ARRAY_TASK_ID=") + task + " bash " + path("job.sh") + " 2>/dev/null";
        EXPECT_EQ(std::system(command.c_str()), 0);
      }
      EXPECT_EQ(rows("it's here.sqlite"), whole);
    }
  }
}

TEST_F(SweepProgram, ASlurmScriptSaysWhatTheClusterNeeds) {
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{"emit", "slurm", path("s.json"), "--shards", "8"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Outcome script =
      sweep(with({"--time=1:30:00", "--mem=16G", "--partition=gpu,long", "--account=my-lab", "--whole-node",
                  "--at-once=4", "--setup=module load gcc", "--setup=cd /tmp", "--sbatch=--qos=high"}));
  EXPECT_EQ(script.exit_code, 0) << script.err;
  for (const char* const line :
       {"#SBATCH --array=1-8%4\n", "#SBATCH --exclusive\n", "#SBATCH --nodes=1\n", "#SBATCH --time=1:30:00\n",
        "#SBATCH --mem=16G\n", "#SBATCH --partition=gpu,long\n", "#SBATCH --account=my-lab\n", "#SBATCH --qos=high\n",
        "\nmodule load gcc\ncd /tmp\n", "--jobs \"${SLURM_CPUS_ON_NODE:-1}\""}) {
    sptc::cli::expect_has(script.out, line);
  }
  sptc::cli::expect_lacks(script.out, "--cpus-per-task");
  write("job.sh", script.out);
  EXPECT_EQ(std::system(("bash -n " + path("job.sh")).c_str()), 0);
  expect_refused(with({"--time", "soon"}), "--time must be as Slurm has it");
  expect_refused(with({"--mem", "16 GB"}), "--mem must be as Slurm has it");
  expect_refused(with({"--partition", "a b"}), "--partition must be");
  expect_refused(with({"--sbatch", "qos"}), "--sbatch must be");
  expect_refused(with({"--sbatch=" + std::string(100'000, 'b')}), "--sbatch must be");
  const std::string comment = "--comment=" + std::string(100'000, 'b');
  sptc::cli::expect_has(sweep(with({"--sbatch=" + comment})).out, "#SBATCH " + comment + "\n");
  expect_refused(with({"--at-once", "0"}), "--at-once");
  expect_refused(with({"--whole-node", "--jobs", "2"}), "--jobs has no effect with --whole-node");
  sptc::cli::expect_has(sweep({"emit", "slurm", path("s.json"), "--shards", "5000"}).err, "MaxArraySize");
}

TEST_F(SweepProgram, RefusesWhatItCannotDo) {
  expect_refused({}, "SPEC is missing");
  expect_refused({"reprot"}, "'report'");
  expect_refused({path("no.json")}, "no such file");
  write("there.sqlite", "");
  expect_refused({path("s.json"), "--db", path("there.sqlite"), "--no-resume"},
                 "there.sqlite: exists, and --no-resume was given");
  expect_refused({path("s.json"), "--shard", "4/3"}, "I of --shard");
  expect_refused({path("s.json"), "--shard", "2"}, "for example 2/8");
  expect_refused({path("s.json"), "--jobs", "0"}, "--jobs");
  expect_refused({path("s.json"), "--db", "/no/such/a.sqlite"}, "no directory");
  expect_refused({"report", path("s.json")}, "no results of a sweep");
  expect_refused({"merge", path("s.json"), "--out", path("m")}, "no results of a sweep");
  const std::pair<std::string, std::string> specs[] = {
      {R"("options": {"memory": "x.so"})", "/options: --memory loads code, which no specification may name"},
      {R"("axes": [{"option": "memory", "values": ["x.so"]}])", "/axes/0: --memory loads code"},
      {R"("axes": [{"option": "fidelity", "values": ["timing", "magic"]}])", "/axes/0: unknown --fidelity 'magic'"}};
  for (const auto& [spec, problem] : specs) {
    write("bad.json", R"({"schema": "sptcsim-sweep/0.1", "name": "bad",
        "workloads": [{"m": 1, "n": 1, "k": 1}], )" +
                          spec + "}");
    expect_refused({path("bad.json")}, problem);
    expect_refused({"plan", path("bad.json")}, problem);
  }
}

TEST_F(SweepProgram, AConditionThatLeavesNoPointOrCannotBeEvaluatedLeavesNoFile) {
  const auto with_condition = [](const std::string& where) {
    return R"({"schema": "sptcsim-sweep/0.1", "name": "none", "where": ")" + where + R"(",
        "workloads": [{"m": 1, "n": 1, "k": 1}], "options": {"fidelity": "analytic"},
        "axes": [{"parameter": "/sms", "values": [1, 2]}]})";
  };
  write("none.json", with_condition("sms > 2"));
  expect_refused({path("none.json"), "--db", path("none.sqlite")}, "/where: leaves none of the 2 points");
  expect_refused({"plan", path("none.json")}, "/where: leaves none of the 2 points");
  expect_refused({"emit", "slurm", path("none.json"), "--shards", "2"}, "/where: leaves none of the 2 points");
  expect_refused({"emit", path("none.json")}, "emit: one of slurm, gnu-parallel stands before '");
  write("none.json", with_condition("sms == 'x'"));
  expect_refused({path("none.json"), "--db", path("none.sqlite")}, "/where: leaves none of the 2 points");
  write("none.json", with_condition("1 / (sms - 1)"));
  expect_refused({path("none.json"), "--db", path("none.sqlite")},
                 "/where: in '1 / (sms - 1)': gives no number at a point");
  EXPECT_FALSE(std::filesystem::exists(path("none.sqlite")));
  write("none.json", with_condition("sms > 1"));
  EXPECT_EQ(sweep({path("none.json"), "--db", path("none.sqlite")}).exit_code, 0);
}

TEST_F(SweepProgram, TheReportRunsInABrowser) {
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  undisturbed();
  ASSERT_EQ(sweep({"report", path("whole.sqlite"), "--format", "html", "--out", path("r.html")}).exit_code, 0);
  const std::string dom = sptc::support::open_in_browser(path("r.html"), temporary.path()).dom;
  sptc::cli::expect_has(dom, "data-ready=\"yes\"");
  sptc::cli::expect_has(dom, "32 of 32 rows");
  sptc::cli::expect_has(dom, " most: up to ");  // the verdict
  sptc::cli::expect_has(dom, "sptcsim sweep report");
  sptc::cli::expect_has(dom, ">done</td>");
}

}  // namespace
