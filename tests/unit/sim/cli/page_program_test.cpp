// SPDX-License-Identifier: Apache-2.0
//
// The pages of run and gemm, in a browser where there is one.
#include "tests/support/browser.h"
#include "tests/support/program_fixture.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace {

class PageProgram : public sptc::support::ProgramFixture {
 protected:
  std::string opened(const std::string& page) const {
    const sptc::support::BrowserOutcome seen =
        sptc::support::open_in_browser(page, temporary.path());
    EXPECT_EQ(seen.messages, "");
    EXPECT_NE(seen.dom.find("data-ready=\"yes\""), std::string::npos);
    return seen.dom;
  }
};

TEST_F(PageProgram, GemmWritesAPageBesideItsReport) {
  const std::string page = path("gemm.html");
  const sptc::support::ProgramOutcome outcome = run("gemm 512 256 512 --html " + page);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("2:4 "));
  const std::string text = read(page);
  EXPECT_NE(text.find("sptcsim gemm 512 256 512 --html"), std::string::npos);
  EXPECT_EQ(text.find("src="), std::string::npos);
  EXPECT_EQ(text.find("<link"), std::string::npos);
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string dom = opened(page);
  EXPECT_NE(dom.find("1 of 1 layers"), std::string::npos);
  EXPECT_NE(dom.find("ideal 2:4"), std::string::npos);
}

TEST_F(PageProgram, ShowsOneVariantAndBoardsWithoutEnergies) {
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  for (const std::string& arguments :
       {std::string("--variants dense --fidelity analytic"), std::string("--variants sparse"),
        "--variants dense --arch " + board_without_energies()}) {
    const std::string page = path("gemm.html");
    ASSERT_EQ(run("gemm 256 64 256 --check none " + arguments + " --html " + page).exit_code, 0)
        << arguments;
    const std::string shown = opened(page);
    EXPECT_NE(shown.find("1 of 1 layers"), std::string::npos);
    EXPECT_NE(shown.find("<td class=\"word\">kernel.occupancy_limit</td>"), std::string::npos);
  }
}

TEST_F(PageProgram, HoldsFiveThousandLayers) {
  std::ofstream list(path("many.csv"));
  list << "name,m,n,k\n";
  for (int i = 0; i < 5000; ++i) {
    list << "layer" << i << "," << 64 * (1 + i % 7) << "," << 16 * (1 + i % 5) << ","
         << 64 * (1 + i % 11) << "\n";
  }
  list.close();
  const std::string page = path("many.html");
  const sptc::support::ProgramOutcome outcome =
      run("run " + path("many.csv") + " --fidelity analytic --check none --html " + page);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LT(read(page).size(), 3'000'000U);
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  EXPECT_NE(opened(page).find("5000 of 5000 layers"), std::string::npos);
}

}  // namespace
