// SPDX-License-Identifier: Apache-2.0
#include "tests/support/expect_input_error.h"
#include "tests/support/sanitizers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sptcsim/simulate.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace sptcsim {
namespace {

/// Of this process and its children.
std::int64_t resident_bytes() {
  std::int64_t pages = 0;
  std::vector<std::string> processes{"self"};
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  for (std::string child; children >> child;) {
    processes.push_back(child);
  }
  for (const std::string& process : processes) {
    std::ifstream statm("/proc/" + process + "/statm");
    std::int64_t size = 0, resident = 0;
    statm >> size >> resident;
    pages += resident;
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

TEST(ApiSimulate, OneSimulatorRunsAThousandDesignsInFlatMemory) {
  if (sptc::support::kSanitizedAllocator) {
    GTEST_SKIP() << "the memory of a sanitizer is not flat";
  }
  const Architecture a100("a100-sxm4-80gb");
  const Workload workload({{.m = 64, .n = 64, .k = 64}});
  const Options options{{"variants", "sparse"}, {"check", "none"}};
  Simulator simulator(1);
  std::int64_t after_a_hundred = 0;
  std::set<std::int64_t> cycles;
  for (int i = 0; i < 1000; ++i) {
    const Architecture design = a100.with({{"/sms", 1 + i % 4}, {"/memory/l2_far_latency_cycles", 300 + i}});
    cycles.insert(simulator.simulate(workload, design, options).gemms.at(0).sparse->cycles);
    if (i == 100) {
      after_a_hundred = resident_bytes();
    }
  }
  EXPECT_GT(cycles.size(), 500U) << "the designs differ";
  EXPECT_LT(resident_bytes() - after_a_hundred, 1 << 20);
}

TEST(ApiSimulate, ASimulatorHas1To1024WorkersOrOnePerProcessor) {
  for (const int workers : {-1, 1025}) {
    EXPECT_EQ(sptc::support::input_error_of([&] { Simulator simulator(workers); }),
              "a Simulator has 1 to 1024 workers, or 0 for one per processor, not " + std::to_string(workers));
  }
}

TEST(ApiSimulate, HooksAreCalledAndMayEndIt) {
  const Architecture a100("a100-sxm4-80gb");
  const Workload workload({{.name = "one", .m = 64, .n = 64, .k = 64}, {.name = "two", .m = 64, .n = 64, .k = 64}});
  std::vector<std::string> names;
  Hooks hooks;
  hooks.progress = [&](std::size_t done, std::size_t total, const std::string& next) {
    EXPECT_EQ(done, names.size());
    EXPECT_EQ(total, 2U);
    names.push_back(next);
  };
  simulate(workload, a100, {}, hooks);
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two", ""}));
  hooks.progress = {};
  hooks.poll = [] { throw std::runtime_error("enough"); };
  EXPECT_THROW(simulate(Workload({{.m = 8192, .n = 8192, .k = 8192}}), a100, {}, hooks), std::runtime_error);
  EXPECT_EQ(simulate(workload, a100).gemms.size(), 2U) << "the next call works";
}

TEST(ApiSimulate, WhatAWorkerRefusesArrivesHere) {
  const Architecture a100("a100-sxm4-80gb");
  const Workload workload({{.m = 64, .n = 64, .k = 64}});
  sptc::support::expect_input_error(
      [&] {
        simulate(workload, a100, {{"data", "/no/such/file.safetensors"}});
      },
      {"/no/such/file.safetensors"});
  sptc::support::expect_input_error([&] { simulate(workload, a100, {{"tile", "7x7x7"}}); }, {"7x7x7"});
}

}  // namespace
}  // namespace sptcsim
