// SPDX-License-Identifier: Apache-2.0
#include "tests/support/packed.h"
#include "tests/support/program_fixture.h"

#include <nlohmann/json.hpp>

#include <string>

namespace sptc {
namespace {

class ImportProgram : public ProgramFixture {
 protected:
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
};

TEST_F(ImportProgram, StandardInputIsRead) {
  const std::string csv = file("x.csv", "m,n,k\n16,8,32\n");
  const ProgramOutcome outcome = run("import - < " + csv);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("ops").at(0).at("k"), 32);
  expect_output("run - --fidelity analytic --format csv < " + csv, "16x8x32");
}

TEST_F(ImportProgram, CompressedWorkloadRuns) {
  const std::string packed = file("x.json.gz", gzipped(R"({"schema": "gemm-workload/0.1",
    "ops": [{"name": "layer", "m": 64, "n": 64, "k": 64}]})"));
  expect_output("run " + packed + " --fidelity analytic --format csv", "layer");
}

TEST_F(ImportProgram, BadInputWritesNothing) {
  const std::string out = path("out.json");
  const std::string cut = gzipped(std::string(100000, ' ')).substr(0, 60);
  expect_refused("import " + file("x.gz", cut) + " --out " + out, "cut off");
  expect_refused("import " + file("y.json", R"({"a": 1})") + " --out " + out, "its keys are a");
  expect_refused("import " + file("z.csv", "m,n,k\n1,1,1\n") + " --out " + out + " --dim batch",
                 "--dim must be NAME=V");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(ImportProgram, TheInputIsNotWrittenOver) {
  const std::string csv = file("x.csv", "m,n,k\n16,8,32\n");
  expect_refused("import " + csv + " --out " + csv, "x.csv");
  EXPECT_EQ(read(csv), "m,n,k\n16,8,32\n");
}

}  // namespace
}  // namespace sptc
