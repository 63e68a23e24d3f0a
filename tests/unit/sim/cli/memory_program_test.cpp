// SPDX-License-Identifier: Apache-2.0
//
// What the program does where it runs out of memory, wherever that happens.
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>

namespace sptc::cli {
namespace {

class MemoryOfTheProgram : public testing::Test {
 protected:
  static constexpr int kStepKib = 2000;
  const support::TemporaryDirectory temporary;

  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "AddressSanitizer does not run in little address space";
#endif
  }

  std::string path(const std::string& name) const {
    return (temporary.path() / name).string();
  }

  /// The exit code with `kib` of address space, 128 and the signal where one ended the program.
  int run(const std::string& arguments, int kib) const {
    const std::string command = "ulimit -c 0; ulimit -v " + std::to_string(kib) + "; " +
                                SPTC_PROGRAM " " + arguments + " >" + path("out") + " 2>" +
                                path("err");
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string message() const {
    std::ifstream stream(path("err"), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  /// The least address space, in steps, in which the program starts.
  int least_kib() const {
    int kib = kStepKib;
    while (run("--version", kib) != 0 && kib < 1000 * kStepKib) {
      kib += kStepKib;
    }
    return kib;
  }

  /// From a step above the least space, where the loader has what it needs wherever it puts the
  /// heap, to where the run succeeds it ends with exit code 2 and one sentence.
  void expect_refused_until_it_fits(const std::string& arguments, int steps = 1) const {
    int refused = 0;
    for (int kib = least_kib() + kStepKib, code = -1; code != 0; kib += steps * kStepKib) {
      code = run(arguments, kib);
      if (code != 0) {
        ASSERT_EQ(code, 2) << kib << " KiB: " << message();
        ASSERT_EQ(message(), "sptcsim: error: the machine has not enough memory for this run\n")
            << kib << " KiB";
        ++refused;
      }
    }
    EXPECT_GT(refused, 0);
  }
};

TEST_F(MemoryOfTheProgram, RunsOutInTheHardwareModelWithOneSentence) {
  expect_refused_until_it_fits("gemm 256 256 256 --fidelity datapath --quiet");
  expect_refused_until_it_fits("gemm 256 256 256 --sms all --check none --quiet");
}

TEST_F(MemoryOfTheProgram, RunsOutInAProcessOfItsOwnWithOneSentence) {
  expect_refused_until_it_fits("gemm 256 256 256 --explain --check none --quiet");
}

TEST_F(MemoryOfTheProgram, RunsOutWithACaptureWithOneSentence) {
  expect_refused_until_it_fits("crosscheck " SPTC_SOURCE_DIR "/tests/hardware/captures/a100", 5);
}

}  // namespace
}  // namespace sptc::cli
