// SPDX-License-Identifier: Apache-2.0
//
// The pages of run and gemm, in a browser where there is one.
#include "tests/unit/sim/cli/program.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

class PageProgram : public sptc::cli::JsonProgram {};

TEST_F(PageProgram, GemmWritesAPageBesideItsReport) {
  const std::string page = path("gemm.html");
  const sptc::support::ProgramOutcome outcome = run("gemm 512 256 512 --html " + page);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("2:4 "));
  const std::string text = read(page);
  sptc::cli::expect_has(text, "sptcsim gemm 512 256 512 --html");
  sptc::cli::expect_lacks(text, "src=");
  sptc::cli::expect_lacks(text, "<link");
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string dom = opened(page);
  sptc::cli::expect_has(dom, "1 of 1 layers");
  sptc::cli::expect_has(dom, "ideal 2:4");
}

TEST_F(PageProgram, UnderAnEngineBeginsWithTheWholeInference) {
  const std::string page = path("engine.html");
  const auto outcome = run("run " SPTC_SOURCE_DIR
                           "/traces/llama3_8b.json --dim batch=8,seq=1,context=2048 --dtype e4m3 "
                           "--arch H100 --engine compiled --tp 2 --link 450 --fidelity analytic "
                           "--html " +
                           page);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string dom = opened(page);
  for (const char* const part : {"One inference under engine compiled", "latency ms", "inputs per second (batch 8)",
                                 "tokens per second and user", "joules per token, all GPUs", "communication: ",
                                 "joules per input", "of it ms: attention", "of it ms: communication", "fastest mix",
                                 "Layers (GEMMs only)", "GEMMs only, each by itself, ms"}) {
    sptc::cli::expect_has(dom, part);
  }
  EXPECT_LT(dom.find("what an inference is made of"), dom.find("latency ms"));
  EXPECT_LT(dom.find("latency ms"), dom.find("From the ideal gain"));
}

// The shell reads '\'' within quotes as one quote, and JSON doubles the backslash.
TEST_F(PageProgram, QuotesItsCommandAsAShellReadsIt) {
  const std::string gemm = "gemm 64 64 64 --fidelity analytic --check none --html ";
  const std::string page = path("plain.html");
  const std::string quoted = "'" + temporary.path().string() + "/it'\\''s here.html'";
  ASSERT_EQ(run(gemm + quoted).exit_code, 0);
  std::filesystem::rename(path("it's here.html"), page);
  std::string in_json = "sptcsim " + gemm + quoted;
  in_json.insert(in_json.find('\\'), "\\");
  EXPECT_NE(read(page).find('"' + in_json + '"'), std::string::npos);
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  sptc::cli::expect_has(opened(page), "sptcsim " + gemm + quoted);
}

TEST_F(PageProgram, ShowsMeasuredShapesAndPowerByKeysToo) {
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string page = path("gemm.html");
  const sptc::support::ProgramOutcome outcome =
      run("gemm 4096 512 4096 --arch rtx4090 --fidelity analytic --html " + page);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  sptc::cli::expect_has(outcome.out, "measured shapes like these the gain was off by");
  std::string text = read(page);
  const std::string end = "</body>";
  text.replace(text.find(end), end.size(),
               "<script>for (const key of ['s', 'r', '2'])"
               " window.dispatchEvent(new KeyboardEvent('keydown', {key}));</script></body>");
  std::ofstream(page) << text;
  const std::string dom = opened(page);
  sptc::cli::expect_has(dom, "class=\"seen dense-seen\"");
  sptc::cli::expect_has(dom, "cap 450 W");
  sptc::cli::expect_has(dom, "DRAM 925 GB/s");  // beside the roof of the L2
  sptc::cli::expect_has(dom, "aria-sort=\"descending\"");
}

TEST_F(PageProgram, OfAValidationShowsEveryRow) {
  const std::string page = path("validation.html");
  const std::string file = std::string(SPTC_SOURCE_DIR) + "/configs/evidence/h100-pcie.csv";
  ASSERT_EQ(run("validate " + file + " --arch h100-pcie --fidelity analytic --html " + page).exit_code, 0);
  EXPECT_LT(read(page).size(), 1'000'000U);
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  const std::string dom = opened(page);
  sptc::cli::expect_has(dom, "456 of 456 rows");
  sptc::cli::expect_has(dom, "simulated against measured gain");
  sptc::cli::expect_has(dom, "e4m3 2:4");
}

TEST_F(PageProgram, ShowsOneVariantAndBoardsWithoutEnergies) {
  if (!sptc::support::kHasBrowser) {
    GTEST_SKIP() << "not run: there is no Chromium";
  }
  for (const std::string& arguments :
       {std::string("--variants dense --fidelity analytic"), std::string("--variants sparse"),
        "--variants dense --arch " + board_without_energies()}) {
    const std::string page = path("gemm.html");
    ASSERT_EQ(run("gemm 256 64 256 --check none " + arguments + " --html " + page).exit_code, 0) << arguments;
    const std::string shown = opened(page);
    sptc::cli::expect_has(shown, "1 of 1 layers");
    sptc::cli::expect_has(shown, "<td class=\"word\">kernel.occupancy_limit</td>");
  }
}

TEST_F(PageProgram, HoldsFiveThousandLayers) {
  std::ofstream list(path("many.csv"));
  list << "name,m,n,k\n";
  for (int i = 0; i < 5000; ++i) {
    list << "layer" << i << "," << 64 * (1 + i % 7) << "," << 16 * (1 + i % 5) << "," << 64 * (1 + i % 11) << "\n";
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
  sptc::cli::expect_has(opened(page), "5000 of 5000 layers");
}

}  // namespace
