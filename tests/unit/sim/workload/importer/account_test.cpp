// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/account.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace sptc::workload::importer {
namespace {

Recording empty_recording() {
  Recording recording;
  recording.workload.source = "s";
  recording.account.format = "format";
  return recording;
}

NotTaken not_taken(const std::string& name, std::int64_t count, double each_us,
                   const std::string& reason) {
  NotTaken launch;
  launch.name = name;
  launch.count = count;
  launch.time_us = each_us;
  launch.reason = reason;
  return launch;
}

TEST(Account, SharesAreOfTheRecordedKernelTime) {
  Recording recording = empty_recording();
  recording.account.gpu = "GPU";
  recording.account.kernels_us = 100;
  recording.account.notes = {"of the account"};
  recording.workload.notes = {"of the workload"};
  recording.workload.operations.resize(2);
  recording.workload.operations[0].recorded.time_us = 20;
  recording.workload.operations[1].recorded.time_us = 10;
  recording.workload.operations[1].count = 2;
  NotTaken launch = not_taken("g", 1, 12.5, "why");
  launch.shape = {1, 2, 3};
  launch.dtype = "f64";
  recording.workload.not_taken = {launch};
  // 20 and 2 of 10 are taken, 12.5 are not, 47.5 are left.
  EXPECT_EQ(account_text(recording),
            "s; recorded on GPU\n"
            "  taken: 3 launches of 2 shapes, 40.0 us, 40.0 % of the recorded kernel time\n"
            "  not taken: 1 launch, 12.5 us, 12.5 % of the recorded kernel time\n"
            "    1 launch, 12.5 us, 12.5 % of the recorded kernel time: why\n"
            "      1 x g 1 x 2 x 3 f64\n"
            "  other kernels: 47.5 us, 47.5 % of the recorded kernel time\n"
            "  note: of the account\n"
            "  note: of the workload\n");
}

TEST(Account, OfManyReasonsTheMostFrequentAreSaidAndTheRestCounted) {
  constexpr std::int64_t kReasons = 14, kSaid = 12;
  Recording recording = empty_recording();
  for (std::int64_t i = 1; i <= kReasons; ++i) {
    recording.workload.not_taken.push_back(not_taken("g", 10 + i, 0, "r" + std::to_string(i)));
  }
  // 11 + 12 + .. + 24 = 245
  std::string expected = "s\n  taken: 0 launches of 0 shapes\n  not taken: 245 launches\n";
  for (std::int64_t i = kReasons; i > kReasons - kSaid; --i) {
    const std::string count = std::to_string(10 + i);
    expected += "    " + count + " launches: r" + std::to_string(i) + "\n      " + count + " x g\n";
  }
  EXPECT_EQ(account_text(recording), expected + "    and 2 more reasons\n");
}

TEST(Account, OfOneReasonThreeLaunchesAreSaidAndTheRestCounted) {
  Recording recording = empty_recording();
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    recording.workload.not_taken.push_back(not_taken(name, 1, 0, "why"));
  }
  EXPECT_EQ(account_text(recording),
            "s\n  taken: 0 launches of 0 shapes\n  not taken: 5 launches\n"
            "    5 launches: why\n      1 x a\n      1 x b\n      1 x c\n      and 2 more\n");
}

TEST(Account, WhatIsNotTakenIsAnErrorWhereAllMustBe) {
  Recording recording = empty_recording();
  recording.workload.file = "f";
  EXPECT_NO_THROW(require_all_taken(recording));
  recording.workload.not_taken = {not_taken("a", 2, 0, "why"), not_taken("b", 3, 0, "more")};
  support::expect_input_error([&] { require_all_taken(recording); },
                              {"--strict: 5 launches of f are not taken; the first, a: why"});
}

}  // namespace
}  // namespace sptc::workload::importer
