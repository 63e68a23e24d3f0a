// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture.h"
#include "sim/report/report.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::report {
namespace {

TEST(RunPage, HoldsWhatIsInsideAScriptSafely) {
  run::RunResult result = synthetic_result();
  result.operations[0].name = "</script><script>alert(1)</script>";
  const std::string page = run_page(result, config::load_architecture("a100-sxm4-80gb").gpu, "sptcsim x");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("[[DATA]]"), std::string::npos);
  EXPECT_EQ(page.find("[[STYLE]]"), std::string::npos);
}

TEST(RunPage, OfAnEngineHasTheFiguresOfTheWholeInference) {
  run::RunResult result = synthetic_result();
  const config::Architecture board = config::load_architecture("a100-sxm4-80gb");
  EXPECT_EQ(run_page(result, board.gpu, "").find("\"inference\":"), std::string::npos);
  result.inference.emplace();
  result.inference->engine = "compiled";
  result.inference->batch = 4;
  for (auto* const pass : {&result.inference->dense, &result.inference->sparse}) {
    pass->emplace().latency_us = pass == &result.inference->dense ? 8000 : 10000;
    (*pass)->energy_uj = 2e6;
    (*pass)->power_w = 250;
  }
  const std::string page = run_page(result, board.gpu, "");
  // Of the whole inference 2:4 loses, though the GEMMs gain.
  EXPECT_NE(page.find("\"sign\":-1"), std::string::npos);
  EXPECT_NE(page.find("[\"latency ms\",\"8\",\"10\",\"-\"]"), std::string::npos);
  EXPECT_NE(page.find("[\"inputs per second (batch 4)\",\"500.0\",\"400.0\",\"-\"]"), std::string::npos);
  EXPECT_NE(page.find("[\"joules per input\",\"0.5\",\"0.5\",\"-\"]"), std::string::npos);
  EXPECT_NE(page.find("{\"name\":\"dense\",\"us\":[0"), std::string::npos);
  result.inference->pass = {run::PassKind::Stage::kPrefill, 4, 100, 2};
  const std::string prefill = run_page(result, board.gpu, "");
  EXPECT_NE(prefill.find("[\"latency ms (to the first token)\",\"8\""), std::string::npos);
  EXPECT_NE(prefill.find("[\"tokens per second\",\"50000.0\",\"40000.0\",\"-\"]"), std::string::npos);
  EXPECT_NE(prefill.find("[\"joules per token, all GPUs\",\"0.01\""), std::string::npos);
  EXPECT_NE(prefill.find("[\"joules per input, all GPUs\",\"1\""), std::string::npos);
  EXPECT_NE(prefill.find("[\"average power W, each GPU\",\"250.0\""), std::string::npos);
  result.inference->pass = {};
  result.inference->batch = 0;
  EXPECT_NE(run_page(result, board.gpu, "").find("[\"passes per second\",\"125.0\""), std::string::npos);
}

}  // namespace
}  // namespace sptc::report
