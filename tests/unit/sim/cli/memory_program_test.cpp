// SPDX-License-Identifier: Apache-2.0
//
// What the program does where it runs out of memory, wherever that happens.
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  static constexpr int kPlentyKib = 16 << 20;
  const support::TemporaryDirectory temporary;

  void SetUp() override {
    if (support::kAddressSanitizer) {
      GTEST_SKIP() << "AddressSanitizer does not run in little address space";
    }
  }

  std::string path(const std::string& name) const { return (temporary.path() / name).string(); }

  /// The exit code with `kib` of address space, 128 and the signal where one ended the program.
  int run(const std::string& arguments, int kib) const { return limited("v", kib, arguments); }

  /// The same, of what `ulimit` calls -`what`.
  int limited(const std::string& what, int kib, const std::string& arguments) const {
    const std::string command = "ulimit -c 0; ulimit -" + what + " " + std::to_string(kib) + "; " +
                                SPTC_PROGRAM " " + arguments + " >" + path("out") + " 2>" +
                                path("err");
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string read(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string message() const { return read("err"); }

  std::string output() const { return read("out"); }

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
        // The operands are weighed before they are made, all else where it is not to be had.
        if (message().find(": needs ") == std::string::npos) {
          ASSERT_EQ(message(),
                    "sptcsim: error: this run needs more memory than there is or it may take\n")
              << kib << " KiB";
        }
        ASSERT_EQ(std::ranges::count(message(), '\n'), 1) << message();
        ++refused;
      }
    }
    EXPECT_GT(refused, 0);
  }
};

TEST_F(MemoryOfTheProgram, ALittleStackIsEnough) {
  EXPECT_EQ(limited("s", 256, "gemm 64 64 64 --fidelity datapath"), 0) << message();
}

TEST_F(MemoryOfTheProgram, RunsOutInTheHardwareModelWithOneSentence) {
  expect_refused_until_it_fits("gemm 256 256 256 --fidelity datapath --quiet");
  expect_refused_until_it_fits("gemm 256 256 256 --check none --quiet");
}

TEST_F(MemoryOfTheProgram, RunsOutInAProcessOfItsOwnWithOneSentence) {
  expect_refused_until_it_fits("gemm 256 256 256 --explain --check none --quiet");
}

TEST_F(MemoryOfTheProgram, RunsOutWithACaptureWithOneSentence) {
  expect_refused_until_it_fits("crosscheck " SPTC_SOURCE_DIR "/tests/hardware/captures/a100", 5);
}

TEST_F(MemoryOfTheProgram, OperandsBeyondItsLimitAreRefusedBeforeAnythingIsSimulated) {
  std::ofstream(path("w.csv")) << "m,n,k\n64,64,64\n8192,8192,8192\n";
  for (const std::string command : {"gemm 8192 8192 8192", "run WORKLOAD", "compare WORKLOAD"}) {
    std::string arguments = command + " --fidelity datapath --quiet --memory-limit 512M";
    if (const std::size_t at = arguments.find("WORKLOAD"); at != std::string::npos) {
      arguments.replace(at, 8, path("w.csv"));
    }
    EXPECT_EQ(run(arguments, kPlentyKib), 2) << arguments;
    EXPECT_TRUE(message().starts_with("sptcsim: error: the operands of '")) << message();
    EXPECT_TRUE(message().ends_with("\n") && message().find('\n') == message().size() - 1);
    EXPECT_NE(message().find("needs 1.5 GiB of memory, but the limit of this process leaves 5"),
              std::string::npos)
        << message();
  }
}

TEST_F(MemoryOfTheProgram, ItsLimitChangesNoResultThatFits) {
  const std::string arguments = "gemm 64 64 64 --fidelity datapath --quiet --format json";
  ASSERT_EQ(run(arguments, kPlentyKib), 0) << message();
  const std::string unlimited = output();
  ASSERT_EQ(run(arguments + " --memory-limit 1G", kPlentyKib), 0) << message();
  EXPECT_EQ(output(), unlimited);
}

TEST_F(MemoryOfTheProgram, ALimitThatIsNoneOrLessThanTheProgramIsRefused) {
  const std::string file = SPTC_SOURCE_DIR "/tests/fuzz/corpus/measurements/rows.csv";
  for (const std::string& command :
       {std::string("gemm 64 64 64"), "run " + file, "compare " + file, "validate " + file}) {
    EXPECT_EQ(run(command + " --memory-limit 64K", kPlentyKib), 2);
    EXPECT_NE(message().find("is less than the"), std::string::npos) << message();
    for (const char* const text : {"4Q", "0", "G", "-1", "4.5G", "99999999999T"}) {
      EXPECT_EQ(run(command + " --memory-limit=" + text, kPlentyKib), 2) << text;
      EXPECT_NE(message().find("--memory-limit must be a number of bytes, or of K, M, G or T as "
                               "in 4G, not '" +
                               std::string(text) + "'"),
                std::string::npos)
          << message();
    }
  }
}

}  // namespace
}  // namespace sptc::cli
