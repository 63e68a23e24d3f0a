// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulator.h"

#include "models/base/error.h"
#include "sim/run/simulate.h"
#include "tests/support/environment.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sptc::run {
namespace {

std::string figures_of(const RunResult& result, const workload::Workload& /*workload*/ = {},
                       const config::Architecture& /*architecture*/ = {}, const SimulationOptions& /*options*/ = {}) {
  std::string text = result.arch + " " + result.workload;
  for (const OperationResult& op : result.operations) {
    text += " " + op.name;
    for (const auto& variant : {op.dense, op.sparse}) {
      text +=
          variant ? " " + std::to_string(variant->timing.cycles) + "/" + std::to_string(variant->timing.time_us) : " -";
    }
  }
  return text;
}

workload::Operation gemm(const std::string& name, base::GemmShape shape) {
  workload::Operation op;
  op.name = name;
  op.shape = shape;
  op.prunable = true;
  return op;
}

/// A GEMM of which one launch takes minutes.
SimulationRequest long_request() {
  const std::vector gemms{gemm("large", {16384, 16384, 16384})};
  return {workload::gemms_as_text("long", gemms),
          config::load_architecture_text("a100-sxm4-80gb"),
          {{"no-extrapolate", "true"}, {"check", "none"}}};
}

/// By the worker: which process it is.
std::string process_of(const RunResult& /*result*/, const workload::Workload& /*workload*/,
                       const config::Architecture& /*architecture*/, const SimulationOptions& /*options*/) {
  return std::to_string(::getpid());
}

class SimulatorTest : public testing::Test {
 protected:
  const std::map<std::string, std::string> unchecked{{"check", "none"}};
  Simulator simulator{2, figures_of};
  std::vector<workload::Operation> gemms{gemm("first", {256, 256, 512}), gemm("second", {128, 64, 256})};
  SimulationRequest request{workload::gemms_as_text("two", gemms), config::load_architecture_text("a100-sxm4-80gb"),
                            unchecked};

  std::string simulated() { return simulator.simulate(request, {}, {}); }
};

TEST_F(SimulatorTest, SaysWhatSimulateSaysForDesignsInTurn) {
  const auto expected = [&] {
    SimulationOptions options;
    options.check = CheckMode::kNone;
    workload::Workload workload;
    workload.name = "two";
    workload.operations = gemms;
    return figures_of(simulate(workload, config::to_architecture(request.architecture), options));
  };
  for (const char* name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "a100-sxm4-80gb"}) {
    request.architecture = config::load_architecture_text(name);
    EXPECT_EQ(simulated(), expected()) << name;
  }
}

TEST_F(SimulatorTest, OneCallerHasOneWorker) {
  Simulator workers(4, process_of);
  std::set<std::string> processes;
  for (int i = 0; i < 5; ++i) {
    processes.insert(workers.simulate(request, {}, {}));
  }
  EXPECT_EQ(processes.size(), 1U);
  EXPECT_FALSE(processes.contains(std::to_string(::getpid())));
}

TEST_F(SimulatorTest, ConcurrentCallsGetOneWorkerEachOrWait) {
  const std::string alone = simulated();
  Simulator workers(2, process_of);
  std::array<std::string, 6> results;
  std::array<std::string, 6> processes;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      processes[i] = workers.simulate(request, {}, {});
      results[i] = simulated();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::string& result : results) {
    EXPECT_EQ(result, alone);
  }
  EXPECT_LE(std::set<std::string>(processes.begin(), processes.end()).size(), 2U);
}

TEST_F(SimulatorTest, AKilledWorkerIsOneSentenceAndTheNextCallWorks) {
  Simulator workers(2, process_of);
  const std::string before = workers.simulate(request, {}, {});
  const pid_t worker = std::stoi(before);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(worker, SIGKILL);
  });
  try {
    workers.simulate(long_request(), {}, {});
    ADD_FAILURE() << "a killed worker answered";
  } catch (const base::InternalError& error) {
    EXPECT_STREQ(error.what(), "the worker process was ended by signal 9 (Killed)");
  }
  killer.join();
  EXPECT_NE(workers.simulate(request, {}, {}), before);
}

TEST_F(SimulatorTest, WhatPollThrowsEndsTheCallAtWorkAndOneThatWaits) {
  const auto enough = [] { throw std::domain_error("enough"); };
  EXPECT_THROW(simulator.simulate(long_request(), {}, enough), std::domain_error);
  Simulator single(1, figures_of);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    EXPECT_THROW(single.simulate(long_request(), {},
                                 [&] {
                                   if (stop) {
                                     throw std::domain_error("enough");
                                   }
                                 }),
                 std::domain_error);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_THROW(single.simulate(request, {}, enough), std::domain_error);
  stop = true;
  busy.join();
  EXPECT_EQ(single.simulate(request, {}, {}), simulated());
}

TEST_F(SimulatorTest, RelativePathsAndConfigurationsAreThoseOfTheCall) {
  const std::string before = simulated();
  const support::TemporaryDirectory directory;
  std::filesystem::copy_file(config::config_directory() / "energy" / "a100-sxm4-80gb.json",
                             directory.path() / "own.json");
  request.options["energy"] = "./own.json";
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  EXPECT_EQ(simulated(), before);
  std::filesystem::current_path(here);
  support::expect_input_error([&] { simulated(); }, {"./own.json"});
  request.options = unchecked;
  {
    const support::Environment variable("SPTCSIM_CONFIG_DIR", "/no/such/directory");
    support::expect_input_error([&] { simulated(); }, {"/no/such/directory"});
  }
  EXPECT_EQ(simulated(), before);
}

}  // namespace
}  // namespace sptc::run
