// SPDX-License-Identifier: Apache-2.0
// How fast the simulator is: executed multiply-accumulates per second of CPU time, values
// travelling (`datapath`) or not (`timing`, every cycle simulated), dense and 2:4.
#include "models/sparsity/compress.h"
#include "models/sparsity/prune.h"
#include "sim/config/architecture.h"
#include "sim/gpu/gemm_simulator.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/workload/operands.h"

#include <benchmark/benchmark.h>
#include <systemc>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

// A program of its own.
using namespace sptc;  // NOLINT(google-build-using-namespace)
using config::load_architecture;
using namespace sptc::gpu;       // NOLINT(google-build-using-namespace)
using namespace sptc::kernels;   // NOLINT(google-build-using-namespace)
using namespace sptc::workload;  // NOLINT(google-build-using-namespace)

// SystemC elaborates once per process, so all benchmarks share one simulator.
GemmSimulator& simulator() {
  static GemmSimulator instance(load_architecture("a100-sxm4-80gb").gpu, {false});
  return instance;
}

GemmOperands operands(const GemmProblem& problem) {
  const OperandSource source(DataKind::kRandom, 1);
  GemmOperands result;
  const Operation op{"bench", problem.shape, 1, 1, problem.dtype, true, {}, {}, {}};
  result.a = source.a(op, 0);
  result.b_columns = source.b_columns(op, 0);
  if (problem.sparse) {
    result.a = sparsity::prune_by_magnitude(result.a, problem.dtype);
    result.compressed_a = sparsity::compress(result.a, problem.dtype);
  }
  return result;
}

void simulate(benchmark::State& state, numerics::DataType type, bool sparse, bool values) {
  const std::int64_t size = state.range(0);
  const GemmProblem problem{{size, size, size}, 1, type, sparse};
  const std::vector<GemmOperands> data{values ? operands(problem) : GemmOperands{}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulator().run(problem, {}, values ? &data : nullptr).cycles);
  }
  const auto executed = static_cast<double>(problem.shape.macs()) / (sparse ? 2 : 1);
  state.counters["executed_mac_per_s"] =
      benchmark::Counter(executed, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void add_all() {
  using numerics::DataType;
  for (const bool values : {true, false}) {
    for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kTf32, DataType::kS8}) {
      for (const bool sparse : {false, true}) {
        const std::string name = std::string(values ? "datapath/" : "timing/") + std::string(numerics::name(type)) +
                                 (sparse ? "/2:4" : "/dense");
        benchmark::RegisterBenchmark(name.c_str(), simulate, type, sparse, values)
            ->Arg(512)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace

int sc_main(int argc, char** argv) {
  add_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
