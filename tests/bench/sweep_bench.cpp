// SPDX-License-Identifier: Apache-2.0
// Points per second of a sweep in closed form: simulated alone, and with workers and storing.
#include "sim/sweep/coordinator.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/simulation_point_runner.h"
#include "sim/sweep/sweep_store.h"
#include "tests/support/temporary_directory.h"

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>
#include <systemc>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

namespace {

// A program of its own.
using namespace sptc;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

struct Case {
  int edge;              ///< of the cubic GEMM
  const char* variants;  ///< of the weights
  const char* kernels;   ///< where they come from
  const char* store;     ///< what of each point is kept
};

/// 10,000 designs of an A100 with one GEMM: SMs x bandwidth of DRAM.
sweep::SweepPlan plan_of(const Case& what) {
  const json spec{
      {"schema", "sptcsim-sweep/0.1"},
      {"name", "bench"},
      {"store", what.store},
      {"workloads", {{{"m", what.edge}, {"n", what.edge}, {"k", what.edge}}}},
      {"options",
       {{"check", "none"}, {"fidelity", "analytic"}, {"variants", what.variants}, {"kernels", what.kernels}}},
      {"axes",
       {{{"parameter", "/sms"}, {"range", {{"from", 54}, {"to", 153}, {"step", 1}}}},
        {{"parameter", "dram_gb_per_s"}, {"range", {{"from", 1000}, {"to", 1990}, {"step", 10}}}}}}};
  return sweep::checked_plan(sweep::parse_sweep_spec(spec.dump(), "bench.json"));
}

/// One process, nothing stored.
void simulate_points(benchmark::State& state, const Case& what) {
  const sweep::SweepPlan plan = plan_of(what);
  sweep::SimulationPointRunner runner;
  std::uint64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(runner.run(plan, plan.point(position)));
    position = (position + 1) % plan.product();
  }
  state.SetItemsProcessed(state.iterations());
}

/// The whole sweep, as `sptcsim sweep --jobs N` runs it.
void run_sweep(benchmark::State& state, const Case& what) {
  const sweep::SweepPlan plan = plan_of(what);
  const support::TemporaryDirectory directory;
  const std::atomic<bool> never{false};
  for (auto _ : state) {
    const auto file = directory.path() / "results.sqlite";
    std::filesystem::remove(file);
    sweep::SimulationPointRunner runner;
    sweep::SweepStore store(file, plan, {});
    sweep::run_sweep({plan, runner, {}, static_cast<std::size_t>(state.range(0)), never}, {}, store);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.product()));
}

void add_all() {
  static constexpr Case kCases[] = {
      {512, "dense", "library", "totals"},    {4096, "dense", "library", "totals"}, {512, "both", "library", "totals"},
      {512, "both", "library", "operations"}, {512, "dense", "search", "totals"},   {4096, "dense", "search", "totals"},
  };
  for (const Case& what : kCases) {
    const std::string name =
        "/" + std::to_string(what.edge) + "/" + what.variants + "/" + what.kernels + "/" + what.store;
    benchmark::RegisterBenchmark(("point" + name).c_str(), simulate_points, what)->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("sweep" + name).c_str(), run_sweep, what)
        ->ArgName("jobs")
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace

int sc_main(int argc, char** argv) {
  add_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
