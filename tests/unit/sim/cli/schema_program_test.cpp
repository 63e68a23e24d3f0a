// SPDX-License-Identifier: Apache-2.0
//
// What each command prints with --format json follows its schema in configs/schema.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace {

const std::string kSource = SPTC_SOURCE_DIR;
const std::string kGolden = kSource + "/tests/golden/numerics/";

class SchemaProgram : public sptc::cli::JsonProgram {
 protected:
  void expect_follows(const std::string& name, const std::string& arguments, int exit_code = 0) const {
    const sptc::support::ProgramOutcome outcome = run(arguments);
    ASSERT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.err;
    EXPECT_EQ(schema(name).fault(nlohmann::json::parse(outcome.out)), "") << arguments;
  }
};

TEST_F(SchemaProgram, OfRunsKnowsWhatEachKindOfThemHas) {
  const std::string json = " --format json --quiet";
  const std::string bert = "run " + kSource + "/traces/bert_base.json --fidelity analytic --check none";
  expect_follows("result", "gemm 300 200 512 --explain" + json);
  expect_follows("result", "gemm 256 256 256 --fidelity datapath --check exact" + json);
  expect_follows("result", "gemm 256 256 256 --arch v100 --variants dense" + json);
  expect_follows("result", bert + " --engine tensorrt --explain" + json);
  expect_follows("result", bert + " --engine pytorch --variants dense" + json);
  expect_follows("result",
                 "run " + kSource + "/traces/pytorch_semistructured.json --check none" + " --fidelity analytic" + json);
  expect_follows("result", "run " + kSource + "/traces/digits/mlp.json --fidelity datapath" + json);
}

TEST_F(SchemaProgram, OfWorkloadsHoldsForWhatImportWrites) {
  std::ofstream(path("two.csv")) << "name,m,n,k\na,64,64,64\nb,128,64,64\n";
  expect_follows("workload", "import " + path("two.csv"));
}

TEST_F(SchemaProgram, OfComparisonsKnowsBoardsWithoutSparseKernels) {
  const std::string compare =
      "compare " + kSource + "/traces/bert_base.json --fidelity analytic --check none" + " --format json --quiet ";
  expect_follows("comparison", compare + "--arch A100,V100 --dim batch=1,8");
  expect_follows("comparison", compare + "--arch rtx4090 --dim batch=8");  // has measured shapes
  const std::string save = " --check none --quiet --format json --out ";
  run("gemm 256 256 256" + save + path("a.json"));
  run("gemm 256 256 512 --variants dense" + save + path("b.json"));
  expect_follows("comparison", "compare " + path("a.json") + " " + path("b.json") + " --format json");
}

TEST_F(SchemaProgram, OfValidationsKnowsFewAndManyRows) {
  const std::string json = " --format json --quiet --fidelity analytic";
  expect_follows("validation", "validate " + kSource + "/tests/fidelity/data/a100_dense_f16.csv" + json);
  std::ofstream(path("pair.csv")) << "m,n,k,time_us_median,sparsity,power_w\n"
                                     "4096,4096,4096,600,dense,300\n4096,4096,4096,400,2:4,280\n";
  expect_follows("validation", "validate " + path("pair.csv") + json);
}

TEST_F(SchemaProgram, OfElementsKnowsEveryKindOfInstruction) {
  for (const char* const arguments :
       {"mma.sp.m16n8k32.f32.f16.f16.f32", "mma.m16n8k16.f32.bf16.bf16.f32 --arch sm_80", "mma.m16n8k32.s32.s8.s8.s32",
        "mma.sp.m16n8k64.f32.e4m3.e4m3.f32 --arch sm_89 --row 3", "wgmma.m64n8k16.f32.f16.f16 --arch H100"}) {
    expect_follows("element", std::string("show ") + arguments + " --format json");
  }
}

TEST_F(SchemaProgram, OfInstructionsAndTheirArithmetic) {
  expect_follows("microbench", "microbench --instruction ldmatrix.x4 --format json");
  expect_follows("microbench", "microbench --instruction mma.sp.m16n8k32.f32.f16.f16.f32 --format json");
  expect_follows("verify", "verify " + kGolden + "Volta --format json");
  const std::string set = kGolden + "AdaLovelace/mma.m16n8k32.f32.e4m3.e5m2.f32.";
  expect_follows("identify", "mma --identify --a " + set + "A.npy --b " + set + "B.npy --c " + set + "C.npy --expect " +
                                 set + "D.npy --format json");
  expect_follows("instructions", "mma --list --format json");
  expect_follows("instructions", "mma --list --arch A100 --format json");
}

TEST_F(SchemaProgram, OfEnergiesAndAreas) {
  expect_follows("energy-list", "energy list --format json");
  for (const char* const board : {"a100-sxm4-80gb", "t4", "a100-sxm4-80gb-mig-2g.20gb", "jetson-agx-orin-64gb"}) {
    expect_follows("energy-numbers", std::string("energy show ") + board + " --format json");
  }
  for (const char* const board : {"a100-sxm4-80gb", "v100-sxm2-16gb"}) {
    expect_follows("area", std::string("energy area ") + board + " --format json");
  }
}

TEST_F(SchemaProgram, OfKernelsKnowsPlaces) {
  const std::string gemm = "gemm 64 32 64 --variants dense --fidelity analytic --quiet ";
  ASSERT_EQ(run(gemm + "--save-operands " + path("o.npz") + " --save-d " + path("d.npz")).exit_code, 0);
  ASSERT_EQ(run(gemm + "--seed 1 --save-d " + path("other.npz")).exit_code, 0);
  const std::string crosscheck = "crosscheck --format json --kernel " + path("o.npz") + " --d ";
  expect_follows("crosscheck-kernel", crosscheck + path("d.npz"));
  expect_follows("crosscheck-kernel", crosscheck + path("other.npz"), 1);
}

TEST_F(SchemaProgram, OfCapturesAndArchitectures) {
  for (const char* const capture : {"a100", "h800", "l40s"}) {
    expect_follows("crosscheck", "crosscheck " + kSource + "/tests/hardware/captures/" + capture + " --format json");
  }
  expect_follows("architecture-list", "arch list --format json");
  expect_follows("architecture-report", "arch show a100-sxm4-80gb --format json");
  expect_follows("architecture-report", "arch show a100-sxm4-80gb-mig-2g.20gb --format json");
}

TEST_F(SchemaProgram, OfSweepsSaysWhatIsPlannedAndHowFarItIs) {
  std::ofstream(path("s.json")) << R"({"schema": "sptcsim-sweep/0.1", "name": "two",
      "workloads": [{"m": 64, "n": 64, "k": 64}], "options": {"check": "none"},
      "axes": [{"parameter": "/sms", "values": [1, 2]}]})";
  expect_follows("sweep-plan", "sweep plan " + path("s.json") + " --format json");
  ASSERT_EQ(run("sweep " + path("s.json") + " --quiet --db " + path("r.sqlite")).exit_code, 0);
  expect_follows("sweep-status", "sweep status " + path("r.sqlite") + " --format json");
}

}  // namespace
