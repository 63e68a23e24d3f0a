// SPDX-License-Identifier: Apache-2.0
//
// --save-operands, --save-d and the way back: crosscheck --kernel.
#include "sim/io/npz.h"
#include "sim/io/text_file.h"
#include "tests/support/browser.h"
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace sptc::cli {
namespace {

using nlohmann::json;

using Outcome = support::ProgramOutcome;

class SavedValues : public support::ProgramFixture {
 protected:
  /// Both files of a GEMM.
  std::string saved() const { return " --quiet --save-operands " + path("o.npz") + " --save-d " + path("d.npz"); }
  std::string crosscheck(const std::string& launch) const {
    return "crosscheck --kernel " + path("o.npz") + " --d " + path("d.npz") + " --launch " + launch;
  }

  void expect_right(const std::string& gemm, const std::vector<std::string>& launches) const {
    const Outcome made = run("gemm " + gemm + saved());
    ASSERT_EQ(made.exit_code, 0) << gemm << ": " << made.err;
    for (const std::string& launch : launches) {
      const Outcome checked = run(crosscheck(launch));
      EXPECT_EQ(checked.exit_code, 0) << gemm << ", " << launch << ": " << checked.out << checked.err;
      expect_has(checked.out, "bit-exact");
    }
  }
};

TEST_F(SavedValues, AreAKernelThatIsRight) {
  for (const char* const dtype : {"f16", "bf16", "tf32", "s8", "s4"}) {
    expect_right(std::string("64 24 128 --arch a100-sxm4-80gb --dtype ") + dtype, {"gemm", "gemm.sparse"});
  }
  for (const char* const dtype : {"e4m3", "e5m2"}) {
    expect_right(std::string("64 24 128 --arch h100-sxm5 --dtype ") + dtype, {"gemm", "gemm.sparse"});
  }
  expect_right("64 24 512 --split-k 4", {"gemm", "gemm.sparse"});
  expect_right("64 24 130 --variants sparse", {"gemm.sparse"});
  expect_right("64 24 64 --d-dtype bf16", {"gemm", "gemm.sparse"});
  expect_right("64 24 64 --fidelity analytic", {"gemm"});
  for (const char* const dtype : {"f16", "tf32", "s8"}) {
    expect_right(std::string("48 40 160 --fidelity datapath --dtype ") + dtype, {"gemm", "gemm.sparse"});
  }
  expect_right("32 16 64 --batch 3", {"gemm --entry 2", "gemm.sparse --entry 1"});
}

TEST_F(SavedValues, AreRefusedInOneSentence) {
  expect_refused("gemm 64 24 128 --save-d d.npy", "must be the name of a .npz file, not 'd.npy'");
  expect_refused("gemm 64 24 128 --pattern 1:4" + saved(), "patterns of the hardware, not 1:4");
  expect_refused("gemm 64 24 128 --dtype s8 --d-dtype s8" + saved(), "needs a scale, which no option gives");
  expect_refused("gemm 16777216 16777216 64 --fidelity analytic --check none" + saved(), "the operands of 'gemm'");
  expect_refused("gemm 64 24 128 --save-d " + path("x.npz") + " --save-operands " + path("x.npz"),
                 "names the same file");
  ASSERT_EQ(run("gemm 64 24 128" + saved()).exit_code, 0);
  const std::string kernel = "crosscheck --kernel " + path("o.npz");
  expect_refused(kernel + " --d " + path("d.npz"), "--launch names one of gemm, gemm.sparse");
  expect_refused(kernel + " --launch gem", "unknown launch 'gem' (nearest valid: 'gemm'");
  expect_refused(kernel + " --launch gemm", "--d names the file with the D of your kernel");
  expect_refused(crosscheck("gemm") + " --html /nowhere/x.html", "--html");
  expect_refused("crosscheck --d x.npy " + std::string(SPTC_SOURCE_DIR) + "/tests/hardware/captures/a100",
                 "--d needs --kernel FILE");
  expect_refused("crosscheck --kernel " + path("d.npz") + " --d " + path("d.npz"),
                 "no array '<launch>.kernel' says what a kernel of it is");
}

TEST_F(SavedValues, OfAnotherSeedArePlacedAndMapped) {
  ASSERT_EQ(run("gemm 64 32 128 --variants dense" + saved()).exit_code, 0);
  std::vector<io::Tensor> d = io::read_npz(path("d.npz"));
  for (std::size_t row = 32; row < 64; ++row) {
    const auto first = d[0].bytes.begin() + static_cast<std::ptrdiff_t>(row * 32 * 4);
    std::fill(first, first + 16 * 4, std::byte{0});
  }
  io::write_file(path("d.npz"), io::npz_bytes(d));
  const Outcome outcome = run(crosscheck("gemm") + " --html " + path("page.html"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  expect_has(outcome.out,
             "where: rows 32 to 63 x columns 0 to 15 (tile [1, 0] of 32 x 16): "
             "512 of 512 elements differ; there D is zero");
  expect_has(outcome.out, "      32  ################................\n");
  const json report = json::parse(run(crosscheck("gemm") + " --format json").out);
  EXPECT_EQ(report["places"][0]["rows"], json::parse("[[32, 63]]"));
  EXPECT_EQ(report["places"][0]["cause"], "zero-region");
  EXPECT_EQ(report["places"][0]["tile"]["height"], 32);
  if (!support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string dom = support::open_in_browser(path("page.html"), temporary.path()).dom;
  expect_has(dom, "D differs in 512 of 2048 elements: rows 32 to 63 x columns 0 to 15");
  expect_has(dom, "rows 32 to 32, columns 0 to 15: all differ, explained");
  expect_has(dom, "data-ready=\"yes\"");
}

}  // namespace
}  // namespace sptc::cli
