// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulate.h"

#include "sim/config/architecture.h"
#include "sim/gpu/waveform.h"
#include "sim/run/energy.h"
#include "sim/run/systemc_timer.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace sptc::run {
namespace {

workload::Operation operation(const std::string& name, std::int64_t m) {
  workload::Operation op;
  op.name = name;
  op.shape = {m, 256, 512};
  op.prunable = true;
  return op;
}

class Simulate : public testing::Test {
 protected:
  const config::Architecture a100 = config::load_architecture("a100-sxm4-80gb");
  workload::Workload workload;
  SimulationOptions options;
  SimulationHooks hooks;

  Simulate() {
    workload.operations = {operation("first", 512), operation("second", 1024)};
    options.fidelity = Fidelity::kAnalytic;
    options.check = CheckMode::kNone;
  }
  RunResult simulated() const { return simulate(workload, a100, options, hooks); }
  std::int64_t cycles() const { return simulated().operations[1].sparse->timing.cycles; }
};

TEST_F(Simulate, InClosedFormMayBeCalledAgainAndAgainWithCachesOrWithout) {
  const RunResult first = simulated();
  SimulationCaches caches;
  hooks.caches = &caches;
  for (int i = 0; i < 3; ++i) {
    const RunResult next = simulated();
    EXPECT_EQ(next.totals.sparse->time_us, first.totals.sparse->time_us);
    EXPECT_EQ(next.totals.sparse->energy->total_uj, first.totals.sparse->energy->total_uj);
  }
}

TEST_F(Simulate, LimitsTheClockUnlessItIsToldOtherwise) {
  workload.operations = {operation("large", 16384)};
  workload.operations[0].shape = {16384, 16384, 16384};
  const double limited = simulated().operations[0].dense->timing.clock_mhz;
  options.clock.kind = ClockChoice::Kind::kBoost;
  EXPECT_EQ(simulated().operations[0].dense->timing.clock_mhz, a100.gpu.boost_clock_mhz);
  EXPECT_LT(limited, a100.gpu.boost_clock_mhz);
  options.clock = {ClockChoice::Kind::kFixed, 765};
  EXPECT_EQ(simulated().operations[0].dense->timing.clock_mhz, 765);
}

/// A design whose selector has `inputs`, and a metadata port of `port` bytes a cycle.
config::Architecture with_selector(config::Architecture design, int inputs, double port) {
  design.gpu.sm.tensor_core.selector_inputs = inputs;
  design.gpu.sm.tensor_core.metadata_port_bytes_per_cycle = port;
  return design;
}

class WiderSelector : public Simulate {
 protected:
  WiderSelector() {
    options.variants = Variants::kSparse;
    options.kernels = KernelsFrom::kSearch;
  }
  /// The sparse variant of one GEMM where the selector has `inputs`.
  VariantResult variant(const base::GemmShape& shape, int inputs, double port) {
    workload.operations = {operation("gemm", 1)};
    workload.operations[0].shape = shape;
    return *simulate(workload, with_selector(a100, inputs, port), options, hooks).operations[0].sparse;
  }
};

TEST_F(WiderSelector, IsNeverSlowerThanLeavingItUnused) {
  for (const char* const name : {"1:8", "2:8", "2:16", "6:8"}) {
    options.pattern = sparsity::parse_weight_pattern(name);
    for (const double port : {5.0, 20.6, 41.2, 82.4}) {
      for (const base::GemmShape& shape : {base::GemmShape{8192, 4096, 8192}, {512, 512, 4096}, {4096, 64, 4096}}) {
        const double used = variant(shape, options.pattern->pattern.group, port).timing.time_us;
        const double unused = variant(shape, 4, port).timing.time_us;
        EXPECT_LE(used, 1.005 * unused) << name << " " << port << " " << shape.m << " x " << shape.n << " x "
                                        << shape.k;
      }
    }
  }
}

TEST_F(WiderSelector, IsNotSlowerInSystemCEither) {
  options.fidelity = Fidelity::kTiming;
  options.pattern = sparsity::parse_weight_pattern("2:8");
  const base::GemmShape shape{8192, 4096, 8192};
  EXPECT_LE(variant(shape, 8, 41.2).timing.time_us, 1.005 * variant(shape, 4, 41.2).timing.time_us);
}

TEST_F(WiderSelector, IsUsedWhereItPays) {
  options.pattern = sparsity::parse_weight_pattern("2:8");
  options.clock.kind = ClockChoice::Kind::kBoost;
  const base::GemmShape shape{8192, 4096, 8192};
  const VariantResult used = variant(shape, 8, 82.4);
  EXPECT_EQ(used.kernel.instruction.sparse_pattern().name(), "2:8");
  EXPECT_LT(used.timing.time_us, variant(shape, 4, 82.4).timing.time_us);
}

TEST_F(WiderSelector, CostsNothingWhereAnInstructionUsesFourInputs) {
  options.pattern = sparsity::parse_weight_pattern("2:4");
  const base::GemmShape shape{8192, 4096, 8192};
  const VariantResult wide = variant(shape, 8, 20.6), narrow = variant(shape, 4, 20.6);
  EXPECT_EQ(wide.timing.time_us, narrow.timing.time_us);
  EXPECT_EQ(wide.energy->total_uj, narrow.energy->total_uj);
}

// A library was written for a GPU that exists, and its choice would hide what another one can do.
TEST_F(Simulate, SearchesTheKernelsOfDesignsOfOnesOwn) {
  const auto searches = [&](const config::Architecture& design) {
    return simulate(workload, design, options).operations[0].dense->kernel.searched;
  };
  config::VariedArchitecture varied(a100);
  const std::vector<std::pair<std::string, double>> numbers{{"/sms", 216}};
  const config::Architecture& twice = *varied.with(numbers, "what if");
  EXPECT_FALSE(searches(a100));
  EXPECT_TRUE(searches(twice));
  EXPECT_FALSE(searches(config::load_architecture("a100-sxm4-80gb-mig-3g.40gb")));
  options.kernels = KernelsFrom::kLibrary;
  EXPECT_FALSE(searches(twice));
  options.kernels = KernelsFrom::kSearch;
  EXPECT_TRUE(searches(a100));
  options.kernels.reset();
  options.library = "cublas-sm80";
  EXPECT_FALSE(searches(twice));
}

TEST_F(Simulate, TellsItsProgressByOperation) {
  std::vector<std::string> told;
  hooks.progress = [&](std::size_t done, std::size_t total, const std::string& next) {
    told.push_back(std::to_string(done) + "/" + std::to_string(total) + " " + next);
  };
  simulated();
  EXPECT_EQ(told, (std::vector<std::string>{"0/2 first", "1/2 second", "2/2 "}));
}

TEST_F(Simulate, EndsBeforeTheNextLaunchWhenItIsCancelled) {
  int asked = 0;
  hooks.cancelled = [&] { return ++asked == 3; };
  EXPECT_THROW(simulated(), Cancelled);
  EXPECT_EQ(asked, 3);
}

TEST_F(Simulate, RefusesWhatContradictsItself) {
  const GeneratedData zeros(workload::DataKind::kZeros, 0);
  hooks.operands = &zeros;
  options.data = "relu";
  support::expect_input_error([&] { simulated(); }, {"--data names operand values, and others are given"});
  options.data.clear();
  gpu::Waveform waveform({}, {});
  hooks.observers = {&waveform};
  support::expect_input_error([&] { simulated(); }, {"not with --fidelity analytic"});
  hooks.observers.clear();
  options.warmup = 3;
  support::expect_input_error([&] { simulated(); }, {"--warmup and --repeat are given together"});
  options.repeat = 4;
  options.clock.kind = ClockChoice::Kind::kBoost;
  options.power_limit_w = 250;
  support::expect_input_error([&] { simulated(); }, {"--power-limit has no effect without --clock limited"});
}

TEST_F(Simulate, SplitsOverGpusOnlyANetworkWhoseLinksAreKnown) {
  options.tensor_parallel = 2;
  EXPECT_EQ(support::input_error_of([&] { simulated(); }), "--tp needs an engine that runs more than GEMMs (--engine)");
  options.engine = "tensorrt";
  EXPECT_EQ(support::input_error_of([&] { simulated(); }), "--tp needs --link: what the links of a GPU carry in GB/s");
  options.expert_parallel = 2;
  options.link_gb_per_s = 450;
  support::expect_input_error([&] { simulated(); }, {"--ep and --tp exclude each other"});
  options.tensor_parallel = 1;
  options.link_gb_per_s = 0;
  EXPECT_EQ(support::input_error_of([&] { simulated(); }), "--ep needs --link: what the links of a GPU carry in GB/s");
  options.link_gb_per_s = 450;
  require_link_used(options);
  options.expert_parallel = 1;
  EXPECT_EQ(support::input_error_of([&] { require_link_used(options); }),
            "--link has no effect without --tp or --ep, which take several GPUs");
}

TEST_F(Simulate, SaysWhatTheSoftwareOfAnEngineDoesNotHave) {
  options.engine = "vllm@0.19";
  const std::string none = "vllm 0.19 has no 2:4 kernels of f16: it had them before 0.19 (";
  const RunResult result = simulated();
  EXPECT_TRUE(result.no_sparse.starts_with(none)) << result.no_sparse;
  EXPECT_FALSE(result.operations[0].sparse);
  EXPECT_FALSE(result.inference->sparse);
  EXPECT_EQ(result.inference->engine_version, "0.19");
  EXPECT_EQ(result.inference->kernels[0].reason, result.no_sparse);
  options.variants = Variants::kSparse;
  support::expect_input_error([&] { simulated(); }, {none});
  options.variants = Variants::kBoth;
  options.dtype = numerics::DataType::kE4m3;
  support::expect_input_error([&] { simulated(); },
                              {"'first': vllm 0.19 has no linear layers of e4m3: it needs compute "
                               "capability 8.9 and above, and a100-sxm4-80gb has 8.0"});
}

TEST_F(Simulate, ComparesDenseAndSparseWhereItChoosesSparsity) {
  options.sparsity_auto = true;
  for (const Variants variants : {Variants::kDense, Variants::kSparse}) {
    options.variants = variants;
    EXPECT_EQ(support::input_error_of([&] { simulated(); }),
              "--sparsity auto compares dense and 2:4: it needs --variants both");
  }
}

TEST_F(Simulate, SamplesTheSwitchingOfTheOperandsThatItIsGiven) {
  const auto energy = [&] { return simulated().totals.dense->energy->total_uj; };
  options.data = "zeros";
  const double named = energy();
  options.data.clear();
  const double random = energy();
  const GeneratedData zeros(workload::DataKind::kZeros, 0);
  hooks.operands = &zeros;
  EXPECT_EQ(energy(), named);
  EXPECT_LT(energy(), random);
}

TEST_F(Simulate, SimulatesEqualLaunchesOnceInAProcess) {
  options.fidelity = Fidelity::kTiming;
  options.variants = Variants::kDense;
  options.clock.kind = ClockChoice::Kind::kBoost;
  workload.operations = {operation("one", 512), operation("another", 512)};
  const auto known = known_launches(a100.gpu, true);
  const std::int64_t cycles = simulated().operations[1].dense->timing.cycles;
  EXPECT_EQ(known->size(), 1U);
  EXPECT_EQ(simulated().operations[0].dense->timing.cycles, cycles);
  EXPECT_EQ(known->size(), 1U);
  options.clock = {ClockChoice::Kind::kFixed, 765};
  simulated();
  EXPECT_EQ(known->size(), 2U) << "at another clock";
  options.extrapolate = false;
  simulated();
  EXPECT_EQ(known->size(), 2U) << "every cycle";
}

TEST_F(Simulate, SaysWhatMadeItsNumbers) {
  options.fidelity = Fidelity::kTiming;
  EXPECT_EQ(simulated().made_by, "SystemC, all 108 SMs");
  options.fidelity = Fidelity::kAnalytic;
  EXPECT_EQ(simulated().made_by, "closed form");
}

TEST_F(Simulate, RunsTheKernelsOfTheLibraryThatItIsTold) {
  options.variants = Variants::kDense;
  options.library = "cusparselt-default";
  for (const OperationResult& op : simulated().operations) {
    EXPECT_EQ(op.dense->kernel.cta_tile.m, 128);
    EXPECT_EQ(op.dense->kernel.cta_tile.n, 128);
  }
  options.library = "cusparse";
  support::expect_input_error([&] { simulated(); }, {"--library: unknown library 'cusparse'"});
}

TEST_F(Simulate, WithSystemCMayBeCalledAgainAndAgainAndWithinItself) {
  options.fidelity = Fidelity::kTiming;
  const std::int64_t first = cycles();
  EXPECT_EQ(cycles(), first);
  hooks.progress = [&](std::size_t done, std::size_t, const std::string&) {
    if (done == 1) {
      EXPECT_EQ(simulate(workload, a100, options).operations[1].sparse->timing.cycles, first);
    }
  };
  EXPECT_EQ(cycles(), first) << "two GPUs alive at once do not meet";
  hooks.progress = {};
  options.fidelity = Fidelity::kDatapath;
  options.check = CheckMode::kExact;
  workload.operations = {operation("values", 32)};
  workload.operations[0].shape = {32, 32, 64};
  for (int i = 0; i < 2; ++i) {
    const RunResult result = simulated();
    EXPECT_TRUE(result.passed());
    EXPECT_EQ(result.operations[0].sparse->check->elements, 32 * 32);
  }
}

}  // namespace
}  // namespace sptc::run
