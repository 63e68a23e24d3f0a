// SPDX-License-Identifier: Apache-2.0
#include "sim/run/run.h"

#include "models/base/error.h"
#include "sim/run/peaks.h"
#include "tests/support/expect_input_error.h"
#include "tests/unit/sim/run/fake_gpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace sptc::run {
namespace {

workload::Operation operation(const std::string& name, base::GemmShape shape, bool prunable) {
  workload::Operation op;
  op.name = name;
  op.shape = shape;
  op.prunable = prunable;
  return op;
}

class Run : public testing::Test {
 protected:
  FakeGpu gpu;
  config::Architecture architecture = FakeGpu::architecture();
  SimulationOptions options;
  workload::Workload workload;

  Run() { options.what_ifs = false; }  // the fake GPU is none of the closed form

  RunResult run(const DataSource* data = nullptr) { return run_workload(workload, architecture, options, data, gpu); }
  void use_datapath(CheckMode check) {
    options.fidelity = Fidelity::kDatapath;
    options.check = check;
  }
  std::string refusal() {
    return support::input_error_of([this] { run(); });
  }
};

TEST_F(Run, SimulatesPrunableOperationsInBothVariantsAndOthersDense) {
  workload.operations = {operation("weight", {64, 64, 128}, true), operation("attention", {64, 64, 128}, false)};
  const RunResult result = run();
  ASSERT_EQ(result.operations.size(), 2u);
  EXPECT_TRUE(result.operations[0].dense && result.operations[0].sparse);
  EXPECT_TRUE(result.operations[1].dense && !result.operations[1].sparse);
  EXPECT_TRUE(result.operations[0].speedup());
  EXPECT_FALSE(result.operations[1].speedup());
  const double dense = result.operations[0].dense->timing.time_us + result.operations[1].dense->timing.time_us;
  const double sparse = result.operations[0].sparse->timing.time_us + result.operations[1].dense->timing.time_us;
  EXPECT_DOUBLE_EQ(result.totals.dense->time_us, dense);
  EXPECT_DOUBLE_EQ(result.totals.sparse->time_us, sparse);
  EXPECT_DOUBLE_EQ(*result.totals.speedup, dense / sparse);
}

TEST_F(Run, HonoursVariants) {
  workload.operations = {operation("weight", {64, 64, 128}, true), operation("attention", {64, 64, 128}, false)};
  options.variants = Variants::kDense;
  RunResult result = run();
  EXPECT_FALSE(result.operations[0].sparse);
  EXPECT_FALSE(result.totals.sparse);
  options.variants = Variants::kSparse;
  result = run();
  EXPECT_FALSE(result.operations[0].dense);
  EXPECT_TRUE(result.operations[1].dense) << "its dense time enters the sparse total";
  EXPECT_FALSE(result.totals.dense);
  EXPECT_TRUE(result.totals.sparse);
  EXPECT_FALSE(result.totals.speedup);
}

TEST_F(Run, CountsAnOperationAsOftenAsItOccurs) {
  workload::Operation op = operation("a", {64, 64, 128}, true);
  op.count = 24;
  workload.operations = {op, operation("b", {64, 64, 128}, true), operation("c", {64, 64, 256}, true)};
  const RunResult result = run();
  EXPECT_EQ(result.operations[0].dense->timing.cycles, result.operations[1].dense->timing.cycles);
  EXPECT_DOUBLE_EQ(result.totals.dense->time_us,
                   25 * result.operations[0].dense->timing.time_us + result.operations[2].dense->timing.time_us);
}

TEST_F(Run, CountsOnlyUsefulExecutedMacsInTheFigures) {
  workload::Operation op = operation("a", {24, 16, 64}, true);
  op.batch = 3;
  workload.operations = {op};
  const RunResult result = run();
  const VariantResult& dense = *result.operations[0].dense;
  const VariantResult& sparse = *result.operations[0].sparse;
  EXPECT_DOUBLE_EQ(dense.timing.padding, 0.25);  // 24 of 32 rows
  EXPECT_DOUBLE_EQ(sparse.timing.padding, 0.25);
  const double macs = 24.0 * 16 * 64 * 3;
  const auto cycles = static_cast<double>(dense.timing.cycles);
  EXPECT_DOUBLE_EQ(dense.timing.utilization, macs / (cycles * 2048));
  EXPECT_DOUBLE_EQ(sparse.timing.utilization, macs / 2 / (static_cast<double>(sparse.timing.cycles) * 2048));
  EXPECT_DOUBLE_EQ(dense.timing.time_us, cycles / 1000);
  EXPECT_DOUBLE_EQ(dense.timing.tflops, 2 * macs / (cycles * 1e-9) * 1e-12);
}

TEST_F(Run, PeakCountsElementsByTheirStorageBits) {
  EXPECT_EQ(peak_macs_per_sm_and_cycle(architecture.gpu, {numerics::DataType::kF16}), 1024);
  EXPECT_EQ(peak_macs_per_sm_and_cycle(architecture.gpu, {numerics::DataType::kTf32}), 512);
  EXPECT_EQ(peak_macs_per_sm_and_cycle(architecture.gpu, {numerics::DataType::kS8}), 2048);
}

TEST_F(Run, ReplacesTheOperandType) {
  workload.operations = {operation("a", {32, 32, 64}, true)};
  for (const numerics::DataType type :
       {numerics::DataType::kBf16, numerics::DataType::kTf32, numerics::DataType::kS8}) {
    options.dtype = type;
    use_datapath(CheckMode::kEigen);
    const RunResult result = run();
    EXPECT_EQ(result.operations[0].dtype, type);
    EXPECT_TRUE(result.passed()) << numerics::name(type);
    EXPECT_EQ(result.operations[0].sparse->check->elements, 32 * 32);
  }
}

TEST_F(Run, ChecksEveryElementOfTheDatapathOfEveryBatchEntry) {
  workload::Operation op = operation("a", {20, 36, 64}, true);
  op.batch = 3;
  workload.operations = {op};
  use_datapath(CheckMode::kEigen);
  EXPECT_EQ(options.check_mode(), CheckMode::kEigen);
  const RunResult result = run();
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.operations[0].dense->check->elements, 3 * 20 * 36);
  EXPECT_EQ(result.operations[0].sparse->check->elements, 3 * 20 * 36);
  EXPECT_EQ(gpu.launches, 2) << "one launch holds the whole batch";
}

TEST_F(Run, FindsAWrongElementAndSaysWhere) {
  workload.operations = {operation("a", {20, 36, 64}, false)};
  use_datapath(CheckMode::kEigen);
  gpu.corrupt = [](base::Matrix<numerics::Word>& d) { d(7, 11) ^= 0x00400000; };
  const RunResult result = run();
  EXPECT_FALSE(result.passed());
  const CheckResult& check = *result.operations[0].dense->check;
  EXPECT_EQ(check.mismatches, 1);
  EXPECT_EQ(result.totals.dense->mismatches, 1);
  EXPECT_GT(check.worst_error, check.bound);
  ASSERT_TRUE(check.first_violation);
  EXPECT_EQ(check.first_violation->row, 7);
  EXPECT_EQ(check.first_violation->col, 11);
}

TEST_F(Run, ExactSeesTheLastBitAndEigenDoesNot) {
  workload.operations = {operation("a", {20, 36, 64}, true)};
  gpu.corrupt = [](base::Matrix<numerics::Word>& d) { d(7, 11) ^= 1; };
  use_datapath(CheckMode::kEigen);
  EXPECT_TRUE(run().passed());
  use_datapath(CheckMode::kExact);
  const RunResult result = run();
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(result.operations[0].sparse->check->mismatches, 1);
  gpu.corrupt = nullptr;
  EXPECT_TRUE(run().passed());
}

TEST_F(Run, SamplesAtLeast256ElementsInTiming) {
  workload::Operation batched = operation("batched", {40, 50, 60}, true);
  batched.batch = 7;
  workload.operations = {operation("a", {4096, 300, 1000}, true), batched, operation("tiny", {3, 5, 8}, true)};
  const RunResult result = run();
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.operations[0].dense->check->mode, "sample");
  EXPECT_GE(result.operations[0].dense->check->elements, 256);
  EXPECT_GE(result.operations[1].sparse->check->elements, 256);
  EXPECT_EQ(result.operations[2].dense->check->elements, 15) << "all there are";
}

TEST_F(Run, ComputesEveryElementInTimingOnlyWhereThatIsLittleWork) {
  workload.operations = {operation("a", {40, 50, 60}, true)};
  options.check = CheckMode::kEigen;
  EXPECT_EQ(run().operations[0].sparse->check->elements, 2000);
  workload.operations = {operation("big", {4096, 4096, 4096}, true)};
  EXPECT_NE(refusal().find("'big'"), std::string::npos);
  EXPECT_NE(refusal().find("--check sample"), std::string::npos);
}

TEST_F(Run, ComparesTheEngineBitForBitWhereNoValuesTravel) {
  workload.operations = {operation("a", {16, 16, 16}, true)};
  options.check = CheckMode::kExact;
  const RunResult result = run();
  EXPECT_TRUE(result.passed());
  ASSERT_TRUE(result.operations[0].sparse->check);
  EXPECT_EQ(result.operations[0].sparse->check->mode, "exact");
  EXPECT_EQ(result.operations[0].sparse->check->elements, 256);
}

TEST_F(Run, CompletesTheLastGroupOfKWithZeros) {
  workload.operations = {operation("a", {16, 16, 30}, true)};
  use_datapath(CheckMode::kExact);
  const RunResult result = run();
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(gpu.problems[0].shape.k, 30);
  EXPECT_EQ(gpu.problems[1].shape.k, 32);
  EXPECT_EQ(result.operations[0].shape.k, 30);
}

TEST_F(Run, RefusesSizesBeyond64Bit) {
  workload.operations = {operation("huge", {1LL << 31, 1LL << 31, 1LL << 20}, true)};
  EXPECT_NE(refusal().find("do not fit 64 bits"), std::string::npos);
}

TEST_F(Run, RefusesOperandsLargerThanTheMachine) {
  workload.operations = {operation("large", {1 << 24, 1 << 24, 64}, true)};
  use_datapath(CheckMode::kNone);
  EXPECT_NE(refusal().find("the operands of 'large'"), std::string::npos);
  EXPECT_EQ(gpu.launches, 0);
}

TEST_F(Run, RefusesAWorkloadWithoutOperations) {
  EXPECT_NE(refusal().find("no operations"), std::string::npos);
}

TEST_F(Run, NamesTheAssumedParametersOnly) {
  EXPECT_EQ(assumptions(architecture), std::vector<std::string>{"/sm/barrier_latency_cycles = 4 cycles"});
}

TEST_F(Run, SaysThatTimingComputesNoAccuracy) {
  workload.operations = {operation("a", {16, 16, 16}, false)};
  workload.network = workload::NetworkData{};
  const RunResult result = run();
  EXPECT_FALSE(result.accuracy);
  ASSERT_FALSE(result.notes.empty());
  EXPECT_NE(result.notes[0].find("accuracy of the network is not computed"), std::string::npos);
}

class RecordedKernels : public Run {
 protected:
  RecordedKernels() {
    workload.operations = {operation("layer", {64, 64, 128}, true)};
    workload.operations[0].recorded = {1.5, "algo 6", "f16", false, {128, 64, 32}, 3, 2, "BIAS"};
    options.fidelity = Fidelity::kTiming;
    options.check = CheckMode::kNone;
  }

  static bool has_note(const RunResult& result, const std::string& part) {
    return std::any_of(result.notes.begin(), result.notes.end(),
                       [&](const std::string& note) { return note.find(part) != std::string::npos; });
  }
};

TEST_F(RecordedKernels, SteerTheLaunchThatWasRecorded) {
  const RunResult result = run();
  ASSERT_EQ(gpu.launches, 2);
  EXPECT_EQ(gpu.overrides[0].cta_tile, (base::GemmShape{128, 64, 32}));
  EXPECT_EQ(gpu.overrides[0].stages, 3);
  EXPECT_EQ(gpu.overrides[0].split_k, 2);
  EXPECT_EQ(gpu.problems[0].d_dtype, numerics::DataType::kF16);
  EXPECT_FALSE(gpu.overrides[1].cta_tile) << "the sparse launch was not recorded";
  EXPECT_TRUE(has_note(result, "1 of the operations ran with the tile, stages and split-K that"));
}

TEST_F(RecordedKernels, AreDifferentLaunchesOfOneShape) {
  workload.operations.push_back(workload.operations[0]);
  workload.operations[1].name = "other";
  workload.operations[1].recorded.split_k = 4;
  run();
  ASSERT_EQ(gpu.launches, 4);
  EXPECT_EQ(gpu.overrides[0].split_k, 2);
  EXPECT_EQ(gpu.overrides[2].split_k, 4);
}

TEST_F(RecordedKernels, OfOneNameAreToldApart) {
  workload.operations.push_back(workload.operations[0]);
  workload.operations[1].shape.n = 4096;
  gpu.refuse = [](const kernels::KernelOverrides& asked) {
    if (asked.split_k && *asked.split_k == 4) {
      throw base::InputError("split-K does not fit");
    }
  };
  workload.operations[0].recorded.split_k = 4;
  const RunResult result = run();
  EXPECT_TRUE(has_note(result, "the recorded kernels of 1 operations do not fit"));
  EXPECT_TRUE(has_note(result, "1 of the operations ran with the tile"));
}

TEST_F(RecordedKernels, HaveTheEpilogueThatWasRecorded) {
  architecture.gpu.memory.l2_bytes_per_cycle = 1000;
  const auto first = [&](const std::string& epilogue, bool adds_c) {
    workload.operations[0].recorded.epilogue = epilogue;
    workload.operations[0].recorded.adds_c = adds_c;
    return run().operations.at(0).dense->traffic.memory.l2_and_dram;
  };
  constexpr std::int64_t kElements = 64 * 64, kTensor = 2 * kElements;  // of f16
  const memory::MemoryBytes plain = first("", false);
  EXPECT_EQ(gpu.problems.back().epilogue_operations, 0);
  const memory::MemoryBytes bias = first("GELU_BIAS", false);
  EXPECT_EQ(gpu.problems.back().epilogue_operations, 8) << "one result of the special units";
  EXPECT_EQ(bias.l2(), plain.l2());
  EXPECT_EQ(first("GELU_AUX_BIAS", false).l2_written, plain.l2_written + kTensor);
  EXPECT_EQ(first("RELU_AUX", false).dram_written, plain.dram_written + kElements / 8);
  EXPECT_EQ(first("DRELU_BGRAD", false).dram_read, plain.dram_read + kElements / 8);
  EXPECT_EQ(first("", true).dram_read, plain.dram_read + kTensor);
  options.conditions.l2.kind = kernels::L2State::Kind::kWarm;
  architecture.gpu.memory.l2_capacity = base::Bytes(1 << 20);
  EXPECT_EQ(first("", true).dram_read, plain.dram_read);
  EXPECT_EQ(first("", true).l2_read, plain.l2_read + kTensor);
}

TEST_F(RecordedKernels, GiveWayToTheUser) {
  options.kernel.stages = 4;
  run();
  EXPECT_FALSE(gpu.overrides[0].cta_tile);
  EXPECT_EQ(gpu.overrides[0].stages, 4);
}

TEST_F(RecordedKernels, AreOfTheRecordedTypeOnly) {
  options.dtype = numerics::DataType::kS8;
  run();
  EXPECT_FALSE(gpu.overrides[0].cta_tile);
  EXPECT_FALSE(gpu.problems[0].d_dtype);
}

TEST_F(RecordedKernels, ThatDoNotFitAreNamedAndAnotherIsSimulated) {
  gpu.refuse = [](const kernels::KernelOverrides& asked) {
    if (asked.cta_tile) {
      throw base::InputError("tile 128x64x32 does not fit");
    }
  };
  const RunResult result = run();
  EXPECT_TRUE(result.operations.at(0).dense);
  EXPECT_TRUE(has_note(result, "the recorded kernels of 1 operations do not fit test-gpu"));
  EXPECT_TRUE(has_note(result, "'layer': tile 128x64x32 does not fit"));
}

}  // namespace
}  // namespace sptc::run
