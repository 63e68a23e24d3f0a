// SPDX-License-Identifier: Apache-2.0
//
// sptcsim verify and sptcsim mma as a user meets them.
#include "sim/check/vectors/bit_array.h"
#include "tests/support/held_pipe.h"
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(SPTC_SOURCE_DIR) / "tests/golden/numerics";

using Outcome = sptc::support::ProgramOutcome;

class MmaProgram : public sptc::cli::JsonProgram {
 protected:
  /// "--a X.A.npy --b X.B.npy --c X.C.npy" of a set.
  static std::string operands(const std::string& set) {
    const std::string stem = (kGolden / set).string();
    return " --a " + stem + ".A.npy --b " + stem + ".B.npy --c " + stem + ".C.npy";
  }
  static std::string array(const std::string& set, const std::string& name) {
    return (kGolden / (set + "." + name + ".npy")).string();
  }
};

const std::string kAda = "AdaLovelace/mma.m16n8k32.f32.e4m3.e5m2.f32";
const std::string kSparse = "AdaLovelace/mmasp.m16n8k64.f32.e4m3.e4m3.f32";

TEST_F(MmaProgram, TakesBoardsAndTheirAliasesAsArchitectures) {
  expect_output("mma --list --arch rtx5080", "sm_120 (rtx-blackwell: RTX 50");
  expect_output("mma --list --arch A100-PCIE", "sm_80 (ampere: A100");
  expect_output("mma --list --arch a100-sxm4-80gb-mig-2g.20gb", "sm_80 (ampere: A100");
  expect_output("mma --list --arch RTX3090", "sm_86 (ampere");
  expect_refused("mma --list --arch a100-sxm4-4", "nearest valid: 'a100-sxm4-40gb'");
}

TEST_F(MmaProgram, ReadsAllThatItIsGivenBeforeItWrites) {
  const std::string command = "mma --arch sm_89 --instruction m16n8k32.f32.e4m3.e5m2.f32" + operands(kAda) + " --out " +
                              path("d.npy") + " --expect ";
  expect_refused(command + path("nosuch.npy"), "nosuch.npy: no such file");
  expect_refused(command + array(kAda, "A"), "must be [");
  EXPECT_FALSE(fs::exists(path("d.npy")));
}

TEST_F(MmaProgram, ShowsTheFirstWordThatDiffers) {
  fs::copy(kGolden / "hw_V100", temporary.path() / "hw_V100");
  {
    std::fstream file(path("hw_V100/f16.D_f32.npy"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-4, std::ios::end);
    file.put('\x55');
  }
  const Outcome text = run("verify " + temporary.path().string());
  EXPECT_EQ(text.exit_code, 1) << text.err;
  sptc::cli::expect_has(text.out, "first: D_f32[599, 0, 0]: expected 0x");
  sptc::cli::expect_has(text.out, "differs in: ");
  const auto json = nlohmann::json::parse(run("verify " + temporary.path().string() + " --format json").out);
  EXPECT_EQ(json["totals"]["mismatches"], 1);
  EXPECT_EQ(json["files"][0]["first"]["case"], 599);
}

TEST_F(MmaProgram, RefusesToVerifyWhatItCannotRead) {
  expect_refused("verify " + path("none"), "no such directory");
  expect_refused("verify " + temporary.path().string(), "no array set");
  expect_refused("verify " + kGolden.string() + " --profile mmasim", "'mma-sim'");
  expect_refused("verify " + kGolden.string() + " --format csv", "text, json");
}

TEST_F(MmaProgram, ExecutesAnInstructionAndComparesIt) {
  const std::string command = "mma --arch L40S --profile mma-sim --instruction m16n8k32.f32.e4m3.e5m2.f32" +
                              operands(kAda) + " --expect " + array(kAda, "D");
  const Outcome outcome = run(command + " --out " + path("d.npy"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  EXPECT_EQ(read(path("d.npy")), read(array(kAda, "D")));
  const Outcome other = run("mma --arch RTX50 --profile mma-sim --instruction m16n8k32.f32.e4m3.e5m2.f32" +
                            operands(kAda) + " --expect " + array(kAda, "D"));
  EXPECT_EQ(other.exit_code, 1);
  sptc::cli::expect_has(other.out, "first: D[");
}

TEST_F(MmaProgram, ExecutesASparseInstructionUnderBothHypotheses) {
  const std::string command = "mma --arch ada --profile mma-sim --instruction mma.sp.m16n8k64.f32.e4m3.e4m3.f32" +
                              operands(kSparse) + " --metadata " + array(kSparse, "idx") + " --metadata-layout indices";
  EXPECT_EQ(run(command + " --expect " + array(kSparse, "D_H1")).exit_code, 0);
  EXPECT_EQ(run(command + " --expect " + array(kSparse, "D_H2")).exit_code, 1);
  EXPECT_EQ(run(command + " --grouping H2 --expect " + array(kSparse, "D_H2")).exit_code, 0);
}

TEST_F(MmaProgram, OneCaseNeedsNoAxisOfCases) {
  const auto command = [&](const std::string& a) {
    return "mma --arch A100 --instruction m16n8k16.f16.f16.f16.f16 --a " + a + " --b " + path("b.npy") + " --expect " +
           path("d.npy");
  };
  const auto write_zeros = [&](const char* name, std::vector<std::size_t> shape) {
    write_bit_array(path(name), sptc::check::vectors::make_bit_array(std::move(shape), 2));
  };
  write_zeros("a.npy", {16, 16});
  write_zeros("b.npy", {16, 8});
  write_zeros("d.npy", {16, 8});
  expect_output(command(path("a.npy")), "0 of 128 elements differ");
  write_zeros("one.npy", {256});
  expect_refused(command(path("one.npy")), "one.npy: must have two axes, or three with the case first, not [256]");
}

TEST_F(MmaProgram, IdentifiesWhoseArithmeticMadeAResult) {
  const auto json =
      json_of("mma --identify --profile mma-sim --format json" + operands(kAda) + " --expect " + array(kAda, "D"));
  ASSERT_FALSE(json["matches"].empty());
  for (const auto& match : json["matches"]) {
    EXPECT_EQ(match["arch"], "ada") << match;
  }
  const Outcome none = run("mma --identify" + operands(kAda) + " --expect " + array(kAda, "C"));
  EXPECT_EQ(none.exit_code, 1);
  sptc::cli::expect_has(none.out, "no instruction reproduces D");
}

TEST_F(MmaProgram, ListsTheInstructionsOfATarget) {
  const Outcome outcome = run("mma --list --arch A100");
  EXPECT_EQ(outcome.exit_code, 0);
  sptc::cli::expect_has(outcome.out, "HMMA.SP.16832.F32");
  sptc::cli::expect_lacks(outcome.out, "wgmma");
  sptc::cli::expect_has(run("mma --list").out, "wgmma");
  expect_refused("mma --format json", "--format needs --list or --identify");
}

TEST_F(MmaProgram, TextGoesToDevicesAndPipesAndBitsDoNot) {
  EXPECT_EQ(run("mma --list --out /dev/null").exit_code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const sptc::support::HeldPipe pipe(path("pipe"));
  EXPECT_EQ(run("mma --list --arch ampere --out " + path("pipe")).exit_code, 0);
  EXPECT_EQ(pipe.text(), run("mma --list --arch ampere").out);
  const std::string bits = "mma --arch sm_89 --instruction m16n8k32.f32.e4m3.e5m2.f32" + operands(kAda) + " --out ";
  expect_refused(bits + path("pipe"), "exists and is not a regular file");
  expect_refused(bits + "/dev/null", "exists and is not a regular file");
}

TEST_F(MmaProgram, RefusesInstructionsAndOperandsThatDoNotFit) {
  const std::string out = " --out " + path("d.npy");
  expect_refused("mma", "--arch and --instruction");
  expect_refused("mma --arch A100 --instruction m16n8k16.f32.f16.f16.f32", "--out or --expect");
  expect_refused("mma --arch A100 --instruction m16n8k15.f32.f16.f16.f32" + out, "near ones");
  expect_refused("mma --arch A100 --instruction m16n8k16.f32.f16.f16.f32" + out, "--a and --b");
  expect_refused("mma --arch A100 --instruction m16n8k16.f32.f16.f16.f32" + operands(kAda) + out, "A must be");
  expect_refused("mma --arch B200 --instruction m16n8k16.f32.e4m3.e4m3.f32" + out, "no arithmetic is known");
  expect_refused("mma --identify" + operands(kAda), "--expect");
  expect_refused("mma --list --identify", "mma: --identify is not of --list");
  expect_refused("mma --list --profile mma-sim", "mma: --profile is not of --list");
  expect_refused("mma --identify --arch A100" + operands(kAda), "mma: --arch is not of --identify");
  EXPECT_FALSE(fs::exists(path("d.npy")));
}

}  // namespace
