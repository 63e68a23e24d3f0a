// SPDX-License-Identifier: Apache-2.0
// The C++ side of call_overhead.py: what a closed form takes without Python around it.
#include "sim/config/architecture.h"
#include "sim/run/energy.h"
#include "sim/run/estimate.h"

#include <benchmark/benchmark.h>

namespace {

void closed_form(benchmark::State& state) {
  const sptc::config::Architecture a100 = sptc::config::load_architecture("a100-sxm4-80gb");
  sptc::workload::Operation gemm;
  gemm.name = "gemm";
  gemm.shape = {2048, 1024, 1024};
  gemm.prunable = true;
  sptc::workload::Workload workload;
  workload.operations.push_back(gemm);
  sptc::run::SimulationOptions options;
  options.what_ifs = false;
  sptc::run::SimulationCaches caches;
  sptc::run::SimulationHooks hooks;
  hooks.caches = &caches;
  sptc::run::estimate(workload, a100, options, hooks);  // files are read, operands sampled once
  for (auto _ : state) {
    benchmark::DoNotOptimize(sptc::run::estimate(workload, a100, options, hooks).totals.speedup);
  }
}
BENCHMARK(closed_form)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
