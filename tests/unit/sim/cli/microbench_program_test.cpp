// SPDX-License-Identifier: Apache-2.0
//
// sptcsim microbench as a user meets it.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <string>
#include <tuple>

namespace {

using Outcome = sptc::support::ProgramOutcome;

class MicrobenchProgram : public sptc::cli::JsonProgram {};

TEST_F(MicrobenchProgram, RunsTheWarpsAndTheIlpThatTheUserAsksFor) {
  expect_output_without("microbench --arch v100-sxm2-16gb --format csv",
                        "ldmatrix");  // from sm_75 on
  expect_output("microbench --instruction ldmatrix.x4 --warps 4 --ilp 2 --format csv",
                "ldmatrix.x4,false,4,2,32,,128.000");
  expect_output("microbench --instruction 'ld.shared.u32 16-way'", "53.0");
  // Eight lanes that copy keep the port of an SM busy, one does not.
  expect_output(
      "microbench --arch h800-pcie --instruction 'cp.async.bulk 4096' --format csv "
      "--warps 8",
      "cp.async.bulk 4096,false,8,1,327,,100.208");
}

// Warp w runs on sub-partition w mod 4: a fifth one makes the first sub-partition the slowest.
TEST_F(MicrobenchProgram, TakesAsLongAsTheSubPartitionWithMostWarps) {
  const auto row = [&](int warps) {
    return json_of("microbench --format json --ilp 4 --instruction m16n8k16.f32.f16.f16.f32 --warps " +
                   std::to_string(warps))["rows"][0];
  };
  for (int warps = 1; warps <= 8; ++warps) {
    const double latency = warps <= 4 ? 36 : 64;  // 8 cycles an instruction from two warps on
    EXPECT_DOUBLE_EQ(row(warps)["latency_cycles"], latency) << warps;
    EXPECT_NEAR(row(warps)["fma_per_clk_per_sm"], warps * 4 * 2048 / latency, 1e-6) << warps;
  }
}

TEST_F(MicrobenchProgram, TakesTheSelectorsOfSparseInstructionsInTurn) {
  const std::string small =
      "microbench --format json --warps 4 --ilp 3 --instruction "
      "'mma.sp.m16n8k16.f32.f16.f16.f32";
  const auto row = [&](const std::string& arguments) { return json_of(arguments)["rows"][0]; };
  const auto same = row(small + "'");
  EXPECT_EQ(same["selectors_in_turn"], false);
  EXPECT_DOUBLE_EQ(same["latency_cycles"], 21);
  const auto in_turn = row(small + " in turn'");
  EXPECT_EQ(in_turn["selectors_in_turn"], true);
  EXPECT_EQ(in_turn["instruction"], same["instruction"]);
  EXPECT_DOUBLE_EQ(in_turn["latency_cycles"], 24);
  // The published row has them in turn.
  const auto published =
      nlohmann::json::parse(run("microbench --format json --instruction mma.sp.m16n8k16.f32.f16.f16.f32").out)["rows"];
  ASSERT_EQ(published.size(), 3U);
  EXPECT_EQ(published[1], in_turn);
}

// On sm_120 software sorts the indices of plain mma.sp of f16 and s8: an RTX 5090 makes them 15 and
// 36 times as slow as the dense instructions of as many products, with eight warps of eight chains.
TEST_F(MicrobenchProgram, IsSlowWhereSoftwareSortsTheIndices) {
  const auto rate = [&](const std::string& arch, const std::string& instruction) {
    return json_of("microbench --format json --warps 8 --ilp 8 --arch " + arch + " --instruction mma." +
                   instruction)["rows"][0]["fma_per_clk_per_sm"]
        .get<double>();
  };
  const std::string ordered = "sp::ordered_metadata.";
  for (const auto& [sparse, dense, slower] : {std::tuple("m16n8k32.f32.f16.f16.f32", "m16n8k16.f32.f16.f16.f32", 15.3),
                                              {"m16n8k64.s32.s8.s8.s32", "m16n8k32.s32.s8.s8.s32", 36.4}}) {
    const double base = rate("rtx5090", dense);
    EXPECT_NEAR(rate("rtx5090", ordered + sparse) / base, 2, 0.1) << sparse;
    const double plain = rate("rtx5090", std::string("sp.") + sparse);
    EXPECT_NEAR(std::log(base / plain), std::log(slower), 0.2) << sparse;
    EXPECT_DOUBLE_EQ(rate("a100-sxm4-80gb", std::string("sp.") + sparse), rate("a100-sxm4-80gb", ordered + sparse));
  }
  EXPECT_DOUBLE_EQ(rate("rtx5090", "sp.m16n8k32.f32.bf16.bf16.f32"),
                   rate("rtx5090", ordered + "m16n8k32.f32.bf16.bf16.f32"));
  const std::string f16 = "m16n8k32.f32.f16.f16.f32";
  expect_output("microbench --arch rtx5090 --instruction mma.sp." + f16, "note: on sm_120 plain .sp sorts the indices");
  // The rows that are published are of both spellings.
  const std::string both = "microbench --arch rtx5090 --instruction mma." + ordered + f16;
  EXPECT_EQ(json_of(both + " --format json")["rows"].size(), 3U);
  expect_output_without(both, "note");
}

// A B200 takes 168, 136, 152 and 202 cycles.
TEST_F(MicrobenchProgram, TellsHowLongATcgen05MmaTakesAlone) {
  const auto latency = [&](const std::string& instruction, const std::string& more = "") {
    return json_of("microbench --arch b200 --format json --instruction 'tcgen05." + instruction + " waited for'" +
                   more)["rows"][0]["latency_cycles"]
        .get<double>();
  };
  EXPECT_DOUBLE_EQ(latency("m128n64k16.f32.bf16.bf16"), 104 + 32 + 32);  // A, arithmetic
  EXPECT_DOUBLE_EQ(latency("m128n64k16.f32.bf16.bf16 ts"), 104 + 32);
  EXPECT_DOUBLE_EQ(latency("m64n64k16.f32.bf16.bf16"), 104 + 16 + 32);
  EXPECT_DOUBLE_EQ(latency("cta_group::2.m256n64k16.f32.bf16.bf16"), 104 + 34 + 32 + 32);
  // The second one of two is an interval later.
  EXPECT_NEAR(latency("m128n64k16.f32.bf16.bf16", " --warps 4 --ilp 2"), 168 + 48, 0.5);
  const std::string command = "microbench --arch b200 --instruction ";
  expect_output(command + "'tcgen05.cta_group::2.m256n64k16.f32.bf16.bf16 ts waited for'",
                "tcgen05.mma.cta_group::2.kind::f16.m256n64k16.f32.bf16.bf16 ts waited for");
  expect_refused(command + "'m16n8k16.f32.f16.f16.f32 waited for'", "belongs to tcgen05.mma");
  expect_refused(command + "m16n8k16.cta_group::2.f32.f16.f16.f32", "half of whose rows");
  expect_refused(command + "'tcgen05.m128n64k16.f32.f16.f16 rs'", "belong to wgmma");
  std::ofstream(path("d.json")) << R"({"base": "b200", "name": "d", "sm": {
      "tcgen05_latency_cycles": {"value": 0, "evidence": "assumed", "source": "a test"}}})";
  expect_refused("microbench --arch " + path("d.json") + " --instruction 'tcgen05.m128n64k16.f32.f16.f16 waited for'",
                 "no tcgen05_latency_cycles");
}

// Rows of 16 bytes of A, too: an RTX 5090 takes 34 cycles for two warps on a tensor core.
TEST_F(MicrobenchProgram, HoldsIntegersBackOnSm120) {
  const auto cycles = [&](const std::string& instruction) {
    return json_of("microbench --arch rtx5090 --format json --warps 8 --instruction " +
                   instruction)["rows"][0]["latency_cycles"]
        .get<double>();
  };
  EXPECT_NEAR(cycles("m16n8k32.s32.s8.s8.s32"), 34, 0.1);
  EXPECT_NEAR(cycles("mma.sp::ordered_metadata.m16n8k32.s32.s8.s8.s32"), 34, 0.1);
  EXPECT_NEAR(cycles("mma.sp::ordered_metadata.m16n8k64.s32.s8.s8.s32"), 34, 0.1);
  EXPECT_NEAR(cycles("m16n8k32.f32.e4m3.e4m3.f32"), 64, 0.1);  // QMMA, and not two of f16
}

TEST_F(MicrobenchProgram, RefusesWhatRunsAsTwoInstructionsOrDidOnTheLastGenerationThatIsKnown) {
  const std::string four_bits = " --instruction m16n8k64.s32.s4.s4.s32";
  EXPECT_EQ(run("microbench --arch a100-sxm4-80gb" + four_bits).exit_code, 0);
  expect_refused("microbench --arch h100-sxm5-80gb" + four_bits, "IMMA.16832.S8.S8 x2");
  expect_refused("microbench --arch b200" + four_bits, "that of 'b200' is not published");
  expect_output_without("microbench --arch b200", "s4.s4");
}

TEST_F(MicrobenchProgram, RefusesWhatAnArchitectureDoesNotHave) {
  expect_refused("microbench --arch v100-sxm2-16gb --instruction m16n8k16.f32.f16.f16.f32", "m16n8k16");
  expect_refused("microbench --instruction 'wgmma.m64n256k16.f32.f16.f16 ss'", "wgmma");
  expect_refused("microbench --arch v100-sxm2-16gb --instruction ldmatrix.x4", "no ldmatrix.x4");
  expect_refused("microbench --instruction 'cp.async 8'", "cp.async 8 passes the L1, which is not modelled");
  expect_refused("microbench --arch a40 --instruction m8n8k4.f64.f64.f64.f64", "f64_multipliers");
  expect_refused("gemm 64 64 64 --arch v100-sxm2-16gb --dtype bf16", "near ones");
  expect_refused("gemm 64 64 64 --arch a100-sxm4-80gb --dtype e4m3 --variants dense", "e4m3");
}

TEST_F(MicrobenchProgram, LeavesOutSparseInstructionsForWhichTheSelectorIsTooNarrow) {
  for (const char* const base : {"a100-sxm4-80gb", "h100-sxm5-80gb"}) {
    std::ofstream(path("d.json")) << R"({"name": "d", "sm": {"tensor_core": {"selector_inputs": {
        "value": 1, "evidence": "assumed", "source": "a test"}}}, "base": ")"
                                  << base << "\"}";
    const Outcome outcome = run("microbench --format csv --arch " + path("d.json"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    sptc::cli::expect_has(outcome.out, "mma.sync");
    sptc::cli::expect_lacks(outcome.out, ".sp.");
    expect_refused("microbench --instruction mma.sp.m16n8k32.f32.f16.f16.f32 --arch " + path("d.json"),
                   "its selector has 1 input and the pattern needs 4");
  }
}

TEST_F(MicrobenchProgram, RefusesBadOptions) {
  expect_refused("microbench --instruction ldmatrix.x3", "ldmatrix.x1, ldmatrix.x2, ldmatrix.x4");
  expect_refused("microbench --instruction 'ld.shared.u32 33-way'", "from 1 to 32");
  expect_refused("microbench --instruction 'ld.shared.u32 -way'", "ld.shared.u32");
  expect_refused("microbench --instruction nonsense", "nonsense");
  expect_refused("microbench --instruction 'm16n8k8.f32.f16.f16.f32 rs'", "belong to wgmma");
  expect_refused("microbench --instruction 'm16n8k8.f32.f16.f16.f32 in turn'", "no selectors");
  expect_refused("microbench --instruction 'mma.sp.m16n8k64.s32.s8.s8.s32 in turn'", "no selectors");
  expect_refused("microbench --instruction ' in turn'", "matrix instruction");
  for (const std::string warps : {"0", "33"}) {
    expect_refused("microbench --warps " + warps, "--warps must be an integer from 1 to 32, not '" + warps + "'");
  }
  expect_refused("microbench --ilp 99999999999", "--ilp");
  expect_refused("microbench --instruction m16n8k16.f32.f16.f16.f32 --ilp 200", "lower the ILP");
  expect_refused(
      "microbench --arch h100-sxm5-80gb --warps 3 --instruction "
      "'wgmma.m64n256k16.f32.f16.f16 ss'",
      "multiple of 4");
  expect_refused("microbench --format xml", "text, json, csv");
  expect_refused("microbench --arch nowhere", "unknown architecture");
  expect_refused("microbench --out /nowhere/x", "--out");
}

}  // namespace
