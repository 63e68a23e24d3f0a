// SPDX-License-Identifier: Apache-2.0
#include "sim/io/text_file.h"
#include "sim/report/report.h"
#include "tests/support/json_schema.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sptc::report {
namespace {

// whole_result() has every figure, and the schema allows no other.
TEST(ResultSchema, FitsReports) {
  const std::string file = std::string(SPTC_SOURCE_DIR) + "/configs/schema/result.schema.json";
  const support::JsonSchema schema(nlohmann::json::parse(io::read_text_file(file, 1 << 20)));
  for (const run::RunResult& result : {whole_result(), synthetic_result(), with_energy()}) {
    EXPECT_EQ(schema.fault(nlohmann::json::parse(json_report(result))), "");
  }
}

}  // namespace
}  // namespace sptc::report
