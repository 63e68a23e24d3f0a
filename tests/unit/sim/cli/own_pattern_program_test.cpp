// SPDX-License-Identifier: Apache-2.0
//
// Weights at patterns that no GPU executes, bit for bit through the stages of a design of one's
// own.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <string>

namespace {

using nlohmann::json;

class OwnPatternProgram : public sptc::cli::JsonProgram {
 protected:
  /// An A100 whose multipliers choose from `inputs` candidates.
  std::string selector(int inputs) const {
    return write("selector" + std::to_string(inputs) + ".json",
                 R"({"base": "a100-sxm4-80gb", "name": "own", "sm": {"tensor_core": )"
                 R"({"selector_inputs": {"value": )" +
                     std::to_string(inputs) + R"(, "evidence": "assumed", "source": "what if"}}}})");
  }

  /// The check of `gemm`, with 2:4 a sparse variant alone.
  json checked(const std::string& gemm) const {
    json report = json_of("gemm " + gemm +
                          " --variants sparse --fidelity datapath --check exact --quiet "
                          "--format json");
    return report["operations"][0]["sparse"];
  }

  void expect_exact(const std::string& gemm, std::int64_t elements) const {
    const json sparse = checked(gemm);
    ASSERT_TRUE(sparse.contains("check")) << gemm;
    EXPECT_EQ(sparse["check"]["elements"], elements) << gemm;
    EXPECT_EQ(sparse["check"]["mismatches"], 0) << gemm;
  }
};

TEST_F(OwnPatternProgram, EveryBitOfAWideSelectorIsThatOfThePlainArithmetic) {
  expect_exact("48 24 200 --arch " + selector(8) + " --pattern 2:8", 48 * 24);
  expect_exact("48 24 200 --arch " + selector(16) + " --pattern 2:16", 48 * 24);
  // Groups of 6 do not divide a step of 8, and 4:8 fills two registers of metadata.
  expect_exact("40 20 200 --arch " + selector(8) + " --pattern 6:8", 40 * 20);
  expect_exact("40 20 200 --arch " + selector(8) + " --pattern 4:8 --dtype s8", 40 * 20);
  expect_exact("40 20 200 --arch " + selector(8) + " --pattern 2:8 --dtype bf16", 40 * 20);
}

TEST_F(OwnPatternProgram, PatternsThatRunWithin2Of4CarryValuesToo) {
  expect_exact("40 20 200 --pattern 1:4", 40 * 20);
  expect_exact("40 20 200 --pattern 6:8", 40 * 20);  // decomposed into windows
  expect_exact("40 20 200 --pattern 1:4 --dtype tf32", 40 * 20);
}

TEST_F(OwnPatternProgram, TakesAsLongAsWithoutValues) {
  const std::string gemm = "256 128 512 --arch " + selector(8) + " --pattern 2:8";
  const json with = checked(gemm);
  const json without = json_of("gemm " + gemm +
                               " --variants sparse --no-extrapolate --check none --quiet "
                               "--kernels library --format json")["operations"][0]["sparse"];
  const json with_library = checked(gemm + " --kernels library");
  EXPECT_EQ(with_library["kernel"], without["kernel"]);
  EXPECT_EQ(with_library["cycles"], without["cycles"]);
  EXPECT_GT(with["cycles"], 0);
}

TEST_F(OwnPatternProgram, TheWaveformShowsRowsOfBBeyondTheFourth) {
  ASSERT_EQ(run("gemm 16 8 64 --arch " + selector(8) +
                " --pattern 2:8 --variants sparse --fidelity datapath --quiet --vcd " + path("w.vcd"))
                .exit_code,
            0);
  const std::string vcd = read(path("w.vcd"));
  sptc::cli::expect_has(vcd, "2:8");
  sptc::cli::expect_has(vcd, "_at_2:8");  // the opcode
}

TEST_F(OwnPatternProgram, RefusesInOneSentence) {
  const std::string datapath = " --fidelity datapath --quiet";
  expect_refused("gemm 64 64 64 --pattern 64:2:8" + datapath, "blocks of rows");
  expect_refused("gemm 64 64 64 --pattern 3:8" + datapath, "selector of 8 inputs");
  expect_refused("gemm 64 64 640 --pattern 2:64 --arch " + selector(64) + datapath, "registers per thread");
  expect_refused("run " + std::string(SPTC_SOURCE_DIR) + "/traces/digits/mlp.json --pattern 1:4" + datapath,
                 "hardware's pattern");
  // wgmma multiplies from shared memory: values and waveforms go through mma.sync.
  expect_refused("gemm 64 64 64 --arch H100 --quiet --vcd " + path("h.vcd"), "wgmma");
}

}  // namespace
