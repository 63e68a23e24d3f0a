// SPDX-License-Identifier: Apache-2.0
//
// sptcsim show as a user meets it.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>
#include <string>

namespace {

using nlohmann::json;

const std::string kSparse = "mma.sp.m16n8k32.f32.f16.f16.f32";

class ShowProgram : public sptc::cli::JsonProgram {
 protected:
  json shown(const std::string& arguments) const { return json_of("show " + arguments + " --format json"); }
};

TEST_F(ShowProgram, TextFitsIn100ColumnsAndHasEveryPart) {
  const sptc::support::ProgramOutcome outcome = run("show " + kSparse + " --row 3 --col 5");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"D[3, 5] on sm_80", "2 of every 4 weights", "canonical E[row, column]", "lane 12",
                           "CUTLASS 2.x, PyTorch", "step 2", "rounded", "D[3, 5] = 0x", "a100-sxm4-80gb (simulated)"}) {
    sptc::cli::expect_has(outcome.out, part);
  }
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST_F(ShowProgram, JsonIsTheSameForTheSameSeedAndAnotherForAnother) {
  const json element = shown(kSparse);
  EXPECT_EQ(element, shown(kSparse + " --seed 0"));
  EXPECT_NE(element["d"], shown(kSparse + " --seed 2")["d"]);
  EXPECT_EQ(element["schema"], "sptcsim-element/0.1");
  EXPECT_EQ(element["kept"].size(), 16U);
  EXPECT_EQ(element["steps"].size(), 2U);
  EXPECT_EQ(element["sparsity"]["groups"].size(), 8U);
  EXPECT_EQ(element["cycles"]["board"], "a100-sxm4-80gb");
  EXPECT_TRUE(shown(kSparse + " --arch sm_80")["cycles"].is_null());
}

TEST_F(ShowProgram, RefusesInOneSentence) {
  expect_refused("show mma.m16n8k16.f32.f16.f16.f33", "f33");
  expect_refused("show " + kSparse + " --row 16", "--row must be from 0 to 15, not 16");
  expect_refused("show " + kSparse + " --col -1", "--col must be");
  expect_refused("show " + kSparse + " --selector 2", "allowed are 0 to 1");
  expect_refused("show " + kSparse + " --arch V100", "mma.sp");
  expect_refused("show m8n8k4.f64.f64.f64.f64", "chain of fused multiply-adds");
  expect_refused("show " + kSparse + " --a a.npy", "--a and --b are given together");
  expect_refused("show " + kSparse + " --html /nowhere/x.html", "--html");
}

TEST_F(ShowProgram, ThePageLoadsNothingAndRunsInABrowser) {
  const std::string page = path("element.html");
  ASSERT_EQ(run("show " + kSparse + " --html " + page).exit_code, 0);
  const std::string text = read(page);
  sptc::cli::expect_lacks(text, "src=");
  sptc::cli::expect_lacks(text, "<link");
  sptc::cli::expect_lacks(text, "@import");
  EXPECT_LT(text.size(), 200'000U);
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string dom = opened(page + "#weight=10");
  sptc::cli::expect_has(dom, "A[0, 10] = -0.2830 is kept in slot 1 of group 2");
  sptc::cli::expect_has(dom, "cycle 25 of 25");
}

TEST_F(ShowProgram, PaperHasEveryStep) {
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string page = path("element.html"), end = "</body>";
  ASSERT_EQ(run("show " + kSparse + " --html " + page).exit_code, 0);
  std::string text = read(page);
  text.replace(text.find(end), end.size(), "<script>window.dispatchEvent(new Event('beforeprint'));</script></body>");
  std::ofstream(page) << text;
  const std::string dom = sptc::support::open_in_browser(page, temporary.path()).dom;
  const std::size_t figure = dom.find("id=\"figure\""), others = dom.find("id=\"other-steps\"");
  ASSERT_LT(figure, others);
  ASSERT_NE(others, std::string::npos);
  EXPECT_LT(dom.find(">step 1 of 2"), others);
  EXPECT_NE(dom.find(">step 2 of 2", others), std::string::npos);
  EXPECT_NE(dom.find("0x3f7386b8", others), std::string::npos);
}

TEST_F(ShowProgram, PagesOfOtherInstructionsRunInABrowser) {
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  for (const char* arguments :
       {"m16n8k16.f32.f16.f16.f32 --arch H100", "mma.sp.m16n8k64.s32.s8.s8.s32", "mma.sp.m16n8k128.s32.s4.s4.s32",
        "mma.sp.m16n8k16.f32.tf32.tf32.f32", "mma.sp.m16n8k64.f32.e4m3.e4m3.f32 --arch H100",
        "m8n8k4.f32.f16.f16.f32 --arch V100", "wgmma.sp.m64n8k64.f32.e4m3.e4m3 --arch H100 --row 40 --data zeros"}) {
    const std::string page = path("element.html");
    ASSERT_EQ(run(std::string("show ") + arguments + " --html " + page).exit_code, 0);
    SCOPED_TRACE(arguments);
    opened(page);
  }
}

}  // namespace
