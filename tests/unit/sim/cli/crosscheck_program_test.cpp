// SPDX-License-Identifier: Apache-2.0
//
// sptcsim crosscheck as a user meets it.
#include "models/base/matrix.h"
#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace sptc::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kCaptures = fs::path(SPTC_SOURCE_DIR) / "tests/hardware/captures";

using Outcome = support::ProgramOutcome;

class CrosscheckProgram : public JsonProgram {
 protected:
  Outcome run(const std::string& arguments) const { return JsonProgram::run("crosscheck " + arguments); }
  void expect_refused(const std::string& arguments, const std::string& part) const {
    JsonProgram::expect_refused("crosscheck " + arguments, part);
  }

  /// A 16 x 8 x 16 GEMM of ones whose D[2, 3] is `word`; all others are 16.
  void write_kernel(numerics::Word word) const {
    base::Matrix<numerics::Word> d(16, 8, 0x41800000);
    d(2, 3) = word;
    io::write_npy(path("a.npy"), base::Matrix<numerics::Word>(16, 16, 0x3C00), numerics::DataType::kF16);
    io::write_npy(path("b.npy"), base::Matrix<numerics::Word>(16, 8, 0x3C00), numerics::DataType::kF16);
    io::write_npy(path("d.npy"), d, numerics::DataType::kF32);
    io::write_file(path("kernel.json"), R"({"schema": "sptcsim-kernel/0.1", "name": "ones",
      "architecture": "A100", "instruction": "m16n8k16.f32.f16.f16.f32", "a": {"file": "a.npy"},
      "b": {"file": "b.npy"}, "d": {"file": "d.npy"}})");
  }
};

TEST_F(CrosscheckProgram, TakesTheArithmeticOfAnotherArchitectureThanTheFileNames) {
  write_kernel(0x41800000);
  const Outcome outcome = run("--kernel " + path("kernel.json") + " --arch H100");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_has(outcome.out, " on sm_90 (");
  expect_refused("--kernel " + path("kernel.json") + " --arch T4", "sm_75 has no");
  expect_refused("--kernel " + path("kernel.json") + " --arch h1000", "unknown architecture 'h1000'");
}

TEST_F(CrosscheckProgram, TakesAnOrderAndAnInstructionThatTheFileDoesNotName) {
  write_kernel(0x41800000);
  const std::string kernel = "--kernel " + path("kernel.json");
  const Outcome order = run(kernel + " --k-order split_k=2,tile_k=8,reduction=parallel");
  EXPECT_EQ(order.exit_code, 0) << order.err;
  expect_has(order.out, "2 slices of K, reduction parallel");
  const Outcome instruction = run(kernel + " --instruction m16n8k8.f32.f16.f16.f32");
  EXPECT_EQ(instruction.exit_code, 0) << instruction.err;
  expect_has(instruction.out, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32");
  expect_refused(kernel + " --k-order split_k", "--k-order must be KEY=VALUE,...");
  expect_refused(kernel + " --k-order split_k=0", "--k-order: /split_k: ");
  expect_refused(kernel + " --k-order slice=2", "slice");
  expect_refused(kernel + " --instruction m16n8k7.f32.f16.f16.f32", "--instruction: ");
  expect_refused((kCaptures / "a100").string() + " --k-order split_k=2", "--k-order needs --kernel FILE");
}

TEST_F(CrosscheckProgram, IsRightWithinATolerance) {
  write_kernel(0x41880000);  // 17 instead of 16, the sum of 16 products of ones
  const std::string kernel = "--kernel " + path("kernel.json") + " --tolerance ";
  const Outcome right = run(kernel + "rel:0.0625");
  EXPECT_EQ(right.exit_code, 0) << right.err;
  expect_has(right.out, "right: 1 of them are within the tolerance");
  EXPECT_EQ(run(kernel + "ulps:524288").exit_code, 0);
  const Outcome wrong = run(kernel + "ulps:4 --format json");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(json::parse(wrong.out)["tolerance"]["within"], 0);
  expect_refused(kernel + "4", "--tolerance must be ulps:N or rel:X, not '4'");
}

TEST_F(CrosscheckProgram, NamesTheFaultOfAKernelInBothFormats) {
  write_kernel(0x41880000);
  const Outcome text = run("--kernel " + path("kernel.json"));
  EXPECT_EQ(text.exit_code, 1);
  expect_has(text.out, "not bit-exact: 1 of 128");
  expect_has(text.out, "first: D[2, 3]: your kernel 0x41880000, expected 0x41800000");
  expect_has(text.out, "[bit-of-d]: one bit of D[2, 3] is flipped: bit 19");
  expect_has(text.out, "look at: memory errors, or two stores to one word [bit-of-d]");
  EXPECT_LT(text.out.find("[bit-of-d]"), text.out.find("first: D[2, 3]"));  // the answer first
  const Outcome outcome = run("--kernel " + path("kernel.json") + " --format json --out " + path("report.json"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "");
  const json report = json::parse(io::read_text_file(path("report.json"), 1 << 20));
  EXPECT_EQ(report["mismatches"], 1);
  EXPECT_EQ(report["fitting"][0]["cause"], "bit-of-d");
}

TEST_F(CrosscheckProgram, WritesNoReportOverTheOperandsOfAKernel) {
  write_kernel(0x41800000);
  for (const char* name : {"a.npy", "b.npy", "d.npy", "kernel.json"}) {
    const auto before = fs::last_write_time(path(name));
    expect_refused("--kernel " + path("kernel.json") + " --out " + path(name),
                   "--out " + path(name) + ": this file is read, so it is not written over");
    EXPECT_EQ(fs::last_write_time(path(name)), before);
  }
}

TEST_F(CrosscheckProgram, RefusesWhatItCannotCompare) {
  expect_refused("", "capture directory or --kernel");
  expect_refused(path("none"), "no such directory");
  expect_refused(write("file.json", "{}"), "file.json: is a file, not a directory");
  expect_refused(temporary.path().string(), "capture.json: no such file");
  expect_refused("--kernel " + path("none.json"), "no such file");
  expect_refused("--kernel x --format csv", "text, json");
  expect_refused((kCaptures / "a100").string() + " --kernel x", "either");
  expect_refused((kCaptures / "a100").string() + " --arch a200", "a200");
  expect_refused((kCaptures / "a100").string() + " --profile mmasim", "'mma-sim'");
  write_kernel(0);
  expect_refused("--kernel " + path("kernel.json") + " --fidelity timing", "have an effect on captures alone");
}

}  // namespace
}  // namespace sptc::cli
