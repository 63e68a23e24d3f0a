// SPDX-License-Identifier: Apache-2.0
//
// `sptcsim sweep --resimulate`, killed or interrupted while SystemC simulates the front again.
#include "tests/support/database_rows.h"
#include "tests/support/program_fixture.h"
#include "tests/support/program_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace sptc::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kInterrupted = 130;

class SweepResimulate : public support::ProgramFixture {
 protected:
  void SetUp() override {
    // 20 points, most of them on the front or near it: each SM costs area, and saves time.
    std::ofstream(path("s.json")) << R"({"schema": "sptcsim-sweep/0.1", "name": "front",
        "store": "totals", "workloads": [{"m": 1024, "n": 1024, "k": 512}],
        "options": {"check": "none", "fidelity": "analytic"},
        "axes": [{"parameter": "/sms", "range": {"from": 89, "to": 108, "step": 1}}]})";
  }

  std::vector<std::string> command(const std::string& db) const {
    return {"sweep", path("s.json"), "--db", path(db), "--jobs", "1", "--resimulate", "20"};
  }

  /// Of the whole command. Its standard error: err.
  int finish(const std::string& db) const {
    return support::wait_for_program(support::start_program(command(db), path("out"), path("err")));
  }

  /// The files that stand beside `db`.
  std::vector<std::string> beside(const std::string& db) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(fs::path(path(db)).parent_path())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(db) && name != db) {
        names.push_back(name);
      }
    }
    return names;
  }

  /// Whether SystemC has stored some points of `db`, and not all.
  bool amid(const std::string& db) const {
    constexpr std::uintmax_t kSomeRows = 30'000;
    std::error_code error;
    const auto size = fs::file_size(path(db + ".timing-wal"), error);
    return !error && size > kSomeRows;
  }

  /// The exit code of the command, to which `signal` is sent in its midst.
  int signalled(const std::string& db, int signal) const {
    const pid_t child = support::start_program(command(db), path("out"), path("err"));
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!amid(db) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(amid(db)) << "it was done before";
    ::kill(child, signal);
    return support::wait_for_program(child);
  }

  std::string undisturbed() const {
    EXPECT_EQ(finish("whole"), 0) << read(path("err"));
    EXPECT_TRUE(beside("whole").empty());
    return support::database_rows(path("whole"));
  }

  /// Points of `db` that SystemC has simulated.
  std::size_t simulated(const std::string& db) const {
    const std::string report = run("sweep report " + path(db)).out;
    const std::size_t at = report.find("SystemC simulated ");
    return at == std::string::npos ? 0 : std::stoul(report.substr(at + 18));
  }
};

TEST_F(SweepResimulate, KilledItLeavesAFileThatTheRepetitionTakesIn) {
  const std::string whole = undisturbed();
  const std::size_t all = simulated("whole");
  EXPECT_GT(all, 5u);
  EXPECT_EQ(signalled("killed", SIGKILL), 1000 + SIGKILL);
  const std::vector<std::string> left = beside("killed");
  EXPECT_TRUE(std::find(left.begin(), left.end(), "killed.timing") != left.end());
  EXPECT_EQ(finish("killed"), 0) << read(path("err"));
  const std::string message = read(path("err"));
  EXPECT_NE(message.find("SystemC simulated "), std::string::npos) << message;
  EXPECT_EQ(message.find(fmt::format("SystemC simulated {} points", all)), std::string::npos)
      << "what was done is done again: " << message;
  EXPECT_TRUE(beside("killed").empty()) << beside("killed").front();
  EXPECT_EQ(support::database_rows(path("killed")), whole);
}

TEST_F(SweepResimulate, InterruptedItAddsWhatIsDoneAndLeavesNoFile) {
  const std::string whole = undisturbed();
  EXPECT_EQ(signalled("stopped", SIGINT), kInterrupted) << read(path("err"));
  EXPECT_TRUE(beside("stopped").empty()) << beside("stopped").front();
  EXPECT_GT(simulated("stopped"), 0u);
  EXPECT_LT(simulated("stopped"), simulated("whole"));
  EXPECT_EQ(finish("stopped"), 0) << read(path("err"));
  EXPECT_EQ(support::database_rows(path("stopped")), whole);
}

}  // namespace
}  // namespace sptc::cli
