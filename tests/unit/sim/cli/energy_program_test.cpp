// SPDX-License-Identifier: Apache-2.0
//
// sptcsim energy as a user meets it.
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>

namespace {

namespace fs = std::filesystem;

struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

class EnergyProgram : public testing::Test {
 protected:
  const sptc::TemporaryDirectory temporary;

  static std::string read(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string path(const std::string& name) const { return (temporary.path() / name).string(); }

  Outcome run(const std::string& arguments) const {
    const std::string command =
        std::string(SPTC_PROGRAM) + " " + arguments + " >" + path("out") + " 2>" + path("err");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(path("out")), read(path("err"))};
  }

  void expect_output(const std::string& arguments, const std::string& part) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  }

  void expect_refused(const std::string& arguments, const std::string& part) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("sptcsim: error: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
};

TEST_F(EnergyProgram, ListsAndShowsWhatItKnows) {
  expect_output("energy list", "a100-sxm4-80gb");
  expect_output("energy list", "sparseloop-stc");
  expect_output("energy show a100-sxm4-80gb", "/events/hbm_pj_per_byte");
  expect_output("energy area a100-sxm4-80gb", "sparsity adds");
}

TEST_F(EnergyProgram, RunsTheDesignsOfSparseloop) {
  expect_output("energy design 512 1024 256", "cycles 65536");
  expect_output("energy design 512 1024 256 --pattern 2:8", "bound by shared memory");
  expect_output("energy design 512 1024 256 --design sparseloop-tc --pattern 1:1", "cycles 131072");
}

TEST_F(EnergyProgram, APowerLimitLowersTheClockOfARun) {
  const std::string gemm = "gemm 2048 2048 512 --check none --quiet --format csv --clock limited";
  const auto clock = [](const std::string& csv) {
    std::size_t field = csv.find("dense,");
    for (int comma = 0; comma < 3; ++comma) {
      field = csv.find(',', field) + 1;
    }
    return std::stod(csv.substr(field));
  };
  const Outcome wide = run(gemm + " --power-limit 2000");
  const Outcome tight = run(gemm + " --power-limit 200");
  ASSERT_EQ(wide.exit_code, 0) << wide.err;
  ASSERT_EQ(tight.exit_code, 0) << tight.err;
  EXPECT_DOUBLE_EQ(clock(wide.out), 1410) << wide.out;
  EXPECT_LT(clock(tight.out), 1400) << tight.out;
}

TEST_F(EnergyProgram, RefusesPowerOptionsThatDoNothing) {
  const std::string gemm = "gemm 64 64 64 --quiet ";
  expect_refused(gemm + "--power-limit 300", "--clock limited");
  expect_refused(gemm + "--clock limited --power-limit x", "--power-limit must be");
  expect_refused(gemm + "--clock limited --power-limit -5", "--power-limit must be");
  expect_refused(gemm + "--board-idle 0", "--board-idle must be");
  expect_refused(gemm + "--energy nothing", "unknown energy file 'nothing'");
  expect_refused(gemm + "--arch t4 --clock limited", "needs an energy file");
  expect_refused(gemm + "--clock limit", "limited");
}

TEST_F(EnergyProgram, RefusesBadInputWithOneSentence) {
  expect_refused("energy", "a command is missing");
  expect_refused("energy show a100-sxm4", "nearest valid: 'a100-sxm4-80gb'");
  expect_refused("energy area t4", "unknown energy file 't4'");
  expect_refused("energy design 1 1 0", "K must be");
  expect_refused("energy design 1 1 1 --pattern 2of4", "--pattern must be N:M");
  expect_refused("energy design 1 1 1 --pattern 4:2", "4:2");
  expect_refused("energy design 1 1 1 --design stc", "nearest valid: 'sparseloop-");
}

}  // namespace
