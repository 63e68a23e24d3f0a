// SPDX-License-Identifier: Apache-2.0
//
// `sptcsim sweep --mpi` under mpirun: as a serial run, and when a rank dies.
#include "tests/support/program_fixture.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sptc::cli {
namespace {

namespace fs = std::filesystem;

class SweepMpi : public support::ProgramFixture {
 protected:
  void SetUp() override {
    // 32 points of a few milliseconds each; eight of them fail: a selector of two inputs cannot run
    // 2:4.
    write("short.json", R"("axes": [{"parameter": "/sms", "values": [1, 2]},
        {"option": "dtype", "values": ["f16", "s8"]},
        {"parameter": "selector_inputs", "values": [2, 4]},
        {"option": "variants", "values": ["dense", "both"]}])");
    // 150 points that take a second: long enough to kill a rank in their midst.
    write("long.json",
          R"("axes": [{"option": "seed", "range": {"from": 1, "to": 75, "step": 1}}])");
    // The same without a process per point.
    write("quick.json", R"("store": "totals",
        "axes": [{"option": "fidelity", "values": ["analytic"]},
                 {"parameter": "/sms", "range": {"from": 1, "to": 108, "step": 1}},
                 {"parameter": "dram_gb_per_s", "range": {"from": 1000, "to": 1009, "step": 1}}])");
  }

  void write(const std::string& name, const std::string& rest) const {
    std::ofstream(path(name)) << R"({"schema": "sptcsim-sweep/0.1", "name": "test",
        "workloads": [{"m": 64, "n": 64, "k": 64}, {"m": 128, "n": 64, "k": 64}],
        "options": {"check": "none"}, )"
                              << rest << "}";
  }

  /// mpirun with `ranks` ranks, without a shell. A rank is given up sooner than by default.
  pid_t start(const std::string& spec, const std::string& db, const std::string& ranks,
              bool recovery = false, const char* garbled_send = nullptr) const {
    const pid_t child = ::fork();
    if (child == 0) {
      if (garbled_send != nullptr) {
        ::setenv("LD_PRELOAD", SPTC_FAILING_CALLS, 1);
        ::setenv("SPTC_FAIL_CALL", "garble-rank", 1);
        ::setenv("SPTC_FAIL_NUMBER", garbled_send, 1);
      }
      const int out = ::open(path("mpi.out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(out, STDOUT_FILENO);
      ::dup2(out, STDERR_FILENO);
      ::execl(SPTC_MPIRUN, SPTC_MPIRUN, "--allow-run-as-root", "--oversubscribe",
              recovery ? "--enable-recovery" : "--quiet", "-n", ranks.c_str(), SPTC_PROGRAM,
              "sweep", path(spec).c_str(), "--db", path(db).c_str(), "--mpi", "--mpi-silence", "5",
              nullptr);
      ::_exit(127);
    }
    return child;
  }

  /// A job that hangs is ended, so that its test fails.
  static int wait_for(pid_t child) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    while (!ended(child) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (!ended(child)) {
      ADD_FAILURE() << "mpirun did not end";
      ::kill(child, SIGTERM);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  int serial(const std::string& spec, const std::string& db, const std::string& more = "") const {
    return run("sweep " + path(spec) + " --db " + path(db) + " --jobs 1 " + more).exit_code;
  }

  std::string mpi_output() const { return read(path("mpi.out")); }

  /// A file of a process; nothing where that ends meanwhile.
  static std::string read_of_process(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();  // throws nothing
    return text.str();
  }

  /// The process of rank `rank` below `mpirun`, once it is there.
  static std::optional<pid_t> process_of(const std::string& rank, pid_t mpirun) {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string environment = read_of_process(entry.path() / "environ");
      const std::string status = read_of_process(entry.path() / "status");
      const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
      };
      // A point in a process of its own has the rank in its environment too, but another parent.
      if (has(environment, "OMPI_COMM_WORLD_RANK=" + rank + '\0') &&
          has(status, "PPid:\t" + std::to_string(mpirun) + "\n")) {
        return std::stoi(entry.path().filename().string());
      }
    }
    return std::nullopt;
  }

  /// Whether `db` holds some rows and is being written.
  bool amid(const std::string& db) const {
    constexpr std::uintmax_t kSomeRows = 100'000;
    std::error_code error;
    const auto size = fs::file_size(path(db + "-wal"), error);
    return !error && size > kSomeRows;
  }

  static bool ended(pid_t child) {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == child;
  }

  /// Kills rank `rank` of a sweep with `ranks` ranks once some rows are stored. A sweep that was
  /// done before tells nothing, and another one is killed. The exit code of mpirun.
  int kill_rank_amid_sweep(const std::string& rank, const std::string& ranks, const std::string& db,
                           bool recovery) const {
    constexpr int kTries = 5;
    for (int i = 0; i < kTries; ++i) {
      fs::remove(path(db));
      const pid_t mpirun = start("long.json", db, ranks, recovery);
      std::optional<pid_t> victim;
      while (!ended(mpirun) && !(victim && amid(db))) {
        victim = victim ? victim : process_of(rank, mpirun);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      const bool in_time = victim && !ended(mpirun) && ::kill(*victim, SIGKILL) == 0;
      const int code = wait_for(mpirun);
      if (in_time && (recovery || code != 0)) {
        return code;
      }
    }
    ADD_FAILURE() << kTries << " sweeps were done before a rank was killed: " << mpi_output();
    return -1;
  }
};

TEST_F(SweepMpi, GivesTheBytesOfASerialRunForAnyNumberOfRanks) {
  ASSERT_EQ(serial("short.json", "whole"), 1);
  for (const char* ranks : {"2", "4"}) {
    EXPECT_EQ(wait_for(start("short.json", std::string("mpi") + ranks, ranks)), 1) << mpi_output();
    EXPECT_EQ(read(path(std::string("mpi") + ranks)), read(path("whole"))) << ranks << " ranks";
  }
  EXPECT_EQ(wait_for(start("short.json", "one", "1")), 2);
  EXPECT_NE(mpi_output().find("at least two"), std::string::npos) << mpi_output();
}

TEST_F(SweepMpi, PointsWithoutAProcessOfTheirOwnGiveTheBytesOfASerialRunToo) {
  ASSERT_EQ(serial("quick.json", "whole"), 0);
  EXPECT_EQ(wait_for(start("quick.json", "mpi", "3")), 0) << mpi_output();
  EXPECT_EQ(read(path("mpi")), read(path("whole")));
}

TEST_F(SweepMpi, ARankThatIsKilledCostsOnePointWhereMpiGoesOnWithoutIt) {
  ASSERT_EQ(serial("long.json", "whole"), 0);
  for (const char* const ranks : {"3", "4"}) {
    const std::string db = std::string("mpi") + ranks;
    const int code = kill_rank_amid_sweep("2", ranks, db, true);
    const support::ProgramOutcome failed = run("sweep report " + path(db) + " --format csv");
    EXPECT_EQ(std::count(failed.out.begin(), failed.out.end(), '\n'), 151) << mpi_output();
    std::size_t lost = 0;
    for (std::size_t at = failed.out.find("rank 2 was silent"); at != std::string::npos;
         at = failed.out.find("rank 2 was silent", at + 1)) {
      ++lost;
    }
    EXPECT_LE(lost, 1u);
    EXPECT_EQ(code, lost == 0 ? 0 : 1) << ranks << " ranks: " << mpi_output();
    EXPECT_EQ(serial("long.json", db, "--retry-failed"), 0);
    EXPECT_EQ(read(path(db)), read(path("whole")));
  }
}

TEST_F(SweepMpi, GarbageOfARankIsSimulatedAgainByOthers) {
  ASSERT_EQ(serial("quick.json", "whole"), 0);
  EXPECT_EQ(wait_for(start("quick.json", "mpi", "3", true, "3")), 0) << mpi_output();
  EXPECT_EQ(read(path("mpi")), read(path("whole")));
}

TEST_F(SweepMpi, TheExitCodeOfASweepIsThatOfMpirunWhereMpiGoesOnWithoutARankToo) {
  EXPECT_EQ(wait_for(start("short.json", "failed", "4", true)), 1) << mpi_output();
  EXPECT_EQ(wait_for(start("quick.json", "done", "4", true)), 0) << mpi_output();
  ASSERT_EQ(serial("short.json", "whole"), 1);
  EXPECT_EQ(read(path("failed")), read(path("whole")));
}

TEST_F(SweepMpi, AllRanksEndWhereRankZeroCannotStoreThoughMpiGoesOnWithoutARank) {
  fs::create_directory(path("directory"));
  EXPECT_EQ(wait_for(start("short.json", "directory", "4", true)), 1) << mpi_output();
  EXPECT_NE(mpi_output().find("directory: cannot be written"), std::string::npos) << mpi_output();
}

TEST_F(SweepMpi, WhereMpiEndsTheJobWithTheRankTheRestIsDoneByARepetition) {
  ASSERT_EQ(serial("long.json", "whole"), 0);
  EXPECT_NE(kill_rank_amid_sweep("1", "3", "mpi", false), 0);
  const support::ProgramOutcome again = run("sweep " + path("long.json") + " --db " + path("mpi"));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.err.find(" 0 before"), std::string::npos) << again.err;
  EXPECT_EQ(read(path("mpi")), read(path("whole")));
}

}  // namespace
}  // namespace sptc::cli
