// SPDX-License-Identifier: Apache-2.0
#include "tests/support/packed.h"
#include "tests/unit/sim/cli/program.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace sptc::cli {
namespace {

class ImportProgram : public JsonProgram {};

TEST_F(ImportProgram, StandardInputIsRead) {
  const std::string csv = write("x.csv", "m,n,k\n16,8,32\n");
  const auto json = json_of("import - < " + csv);
  EXPECT_EQ(json.at("ops").at(0).at("k"), 32);
  expect_output("run - --fidelity analytic --format csv < " + csv, "16x8x32");
}

TEST_F(ImportProgram, BadInputWritesNothing) {
  const std::string out = path("out.json");
  const std::string cut = support::gzipped(std::string(100000, ' ')).substr(0, 60);
  expect_refused("import " + write("x.gz", cut) + " --out " + out, "cut off");
  expect_refused("import " + write("y.json", R"({"a": 1})") + " --out " + out, "its keys are a");
  expect_refused("import " + write("z.csv", "m,n,k\n1,1,1\n") + " --out " + out + " --dim batch",
                 "--dim must be NAME=V");
  EXPECT_FALSE(std::filesystem::exists(out));
}

const std::string kProfile = R"({"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA L40S"}],
  "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 2, "ts": 1, "dur": 9,
   "args": {"External id": 3, "Input Dims": [[64], [16, 32], [32, 64]],
            "Input type": ["c10::Half", "c10::Half", "c10::Half"]}},
  {"ph": "X", "cat": "kernel", "name": "nvjet_hsh_64x8_64x16_4x1_v_bz_TNN", "ts": 12, "dur": 5.5,
   "args": {"External id": 3, "correlation": 70}}]})";

TEST_F(ImportProgram, ARecordingRunsOnItsOwnGpuWithMeasuredBesideSimulated) {
  const std::string trace = write("trace", kProfile);
  const support::ProgramOutcome outcome = run("run " + trace + " --fidelity analytic --format json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("arch"), "l40s");
  EXPECT_EQ(json.at("operations").at(0).at("measured_us"), 5.5);
  EXPECT_EQ(json.at("totals").at("measured").at("time_us"), 5.5);
  EXPECT_EQ(json.at("totals").at("measured").at("simulated_us"), json.at("operations").at(0).at("dense").at("time_us"));
  expect_has(outcome.err, "taken: 1 launch of 1 shapes, 5.5 us, 100.0 %");
  expect_output("run " + trace + " --fidelity analytic --arch h100-sxm5-80gb", "on h100-sxm5-80gb");
}

TEST_F(ImportProgram, WhatWasImportedRunsAsTheRecordingDoes) {
  const std::string trace = write("trace", kProfile);
  const std::string options = " --fidelity analytic --arch l40s --format csv";
  ASSERT_EQ(run("import " + trace + " --out " + path("w.json")).exit_code, 0);
  const support::ProgramOutcome direct = run("run " + trace + options);
  const support::ProgramOutcome imported = run("run " + path("w.json") + options);
  EXPECT_EQ(direct.exit_code, 0);
  EXPECT_EQ(direct.out, imported.out);
  expect_lacks(imported.err, "taken");
}

TEST_F(ImportProgram, ValidateScoresTheTimesOfARecording) {
  EXPECT_EQ(json_of("validate " + write("trace", kProfile) + " --fidelity analytic --format json --quiet").at("arch"),
            "l40s");
  expect_refused("validate " + write("w.json", R"({"schema": "gemm-workload/0.1",
    "ops": [{"name": "a", "m": 8, "n": 8, "k": 8}]})"),
                 "no launch of one batch has a measured time");
}

TEST_F(ImportProgram, StrictRefusesWhatIsNotTaken) {
  std::string trace = kProfile;
  const std::string kernel = R"({"ph": "X", "cat": "kernel", "name": "volta_sgemm_64x64_tn",
    "ts": 30, "dur": 1, "args": {"correlation": 71}},)";
  trace.insert(trace.find(R"({"ph": "X", "cat": "cpu_op")"), kernel);
  expect_output("import " + write("trace", trace), "\"not_taken\"");
  expect_refused("import --strict --out " + path("w.json") + " " + write("trace", trace), "--strict: 1 launches of");
  EXPECT_FALSE(std::filesystem::exists(path("w.json")));
}

TEST_F(ImportProgram, ATypeThatTheGpuLacksIsNotTaken) {
  const auto scaled = [](int id, const std::string& scale) {
    return R"({"ph": "X", "cat": "cpu_op", "name": "aten::_scaled_mm", "pid": 1, "tid": 2,
   "ts": 50, "dur": 9, "args": {"External id": )" +
           std::to_string(id) +
           R"(, "Input Dims": [[16, 32], [32, 64], [64], [256]],
            "Input type": ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", ")" +
           scale + R"(", "float"]}}, {"ph": "X", "cat": "kernel", "name": "nvjet_qqh_64x8_64x16_v",
   "ts": 62, "dur": 5.5, "args": {"External id": )" +
           std::to_string(id) + R"(, "correlation": 80}},)";
  };
  std::string text = kProfile;
  text.insert(text.find(R"({"ph": "X", "cat": "cpu_op")"), scaled(5, "c10::Float8_e8m0fnu") + scaled(6, "float"));
  const std::string trace = write("trace", text);
  const auto rows = [&](const std::string& options) {
    const support::ProgramOutcome outcome =
        run("run " + trace + " --fidelity analytic --format json --quiet" + options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return std::pair(nlohmann::json::parse(outcome.out).at("operations").size(), outcome.err);
  };
  EXPECT_EQ(rows(" --arch b200").first, 3U);
  EXPECT_EQ(rows(" --arch a100 --dtype f16").first, 3U);
  const auto [own, said] = rows("");
  EXPECT_EQ(own, 2U);
  expect_has(said,
             "33.3 % of the recorded kernel time: the tensor cores of l40s multiply no "
             "mxfp8\n      1 x aten::_scaled_mm 64 x 16 x 32 mxfp8");
  EXPECT_EQ(rows(" --arch a100").first, 1U);
  expect_refused("run " + trace + " --arch a100 --strict", "--strict: 2 launches of " + trace + " are not taken");
  const support::ProgramOutcome validated =
      run("validate " + trace + " --arch a100 --fidelity analytic --format json --quiet");
  EXPECT_EQ(validated.exit_code, 0) << validated.err;
  ASSERT_EQ(run("import " + trace + " --out " + path("w.json")).exit_code, 0);
  expect_output("run " + path("w.json") + " --arch a100 --fidelity analytic", "aten::addmm");
  ASSERT_EQ(run("sweep " + write("s.json", R"({"schema": "sptcsim-sweep/0.1", "name": "s",
    "arch": ["a100", "b200"], "workloads": ["w.json"], "options": {"fidelity": "analytic"}})") +
                " --quiet --jobs 1 --db " + path("db"))
                .exit_code,
            1)
      << "a point of fewer launches is no point of this workload";
  const std::string left = "of the recording are left out; the first: the tensor cores of a100";
  const std::string table = run("sweep report " + path("db") + " --format csv").out;
  expect_has(table, left);
  expect_output("compare " + path("w.json") + " --arch b200,a100 --fidelity analytic", "n/a");
  expect_output("run " + path("w.json") + " --arch a100 --fidelity analytic", "are left out");
  expect_refused("run " + path("w.json") + " --arch v100 --dtype e4m3",
                 "no launch can be simulated on v100-sxm2-16gb; the first: the tensor cores of "
                 "v100-sxm2-16gb multiply no e4m3");
  expect_refused("run " + write("own.json", R"({"schema": "gemm-workload/0.1",
    "ops": [{"name": "a", "m": 8, "n": 8, "k": 32, "dtype": "e4m3"}]})") +
                     " --arch a100",
                 "sm_80 has no mma.sync");
  const std::string fp4 = write("config.json", R"({"model_type": "llama", "dtype": "bfloat16",
    "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}})");
  expect_refused("run " + fp4 + " --arch a100 --fidelity analytic",
                 "a model is not simulated in part; --dtype has other types, such as w4a16");
}

const std::string kParametric = R"({"schema": "gemm-workload/0.2", "name": "net",
  "dims": {"batch": 2, "seq": 8}, "ops": [{"name": "x", "m": 64, "n": "batch*seq", "k": 32}]})";

TEST_F(ImportProgram, DimensionsOfAWorkloadAreSet) {
  const std::string net = write("net.json", kParametric);
  const auto json = [&](const std::string& options) {
    return json_of("run " + net + " --fidelity analytic --format json --quiet" + options);
  };
  EXPECT_EQ(json("").at("operations").at(0).at("n"), 16);
  const auto given = json(" --dim batch=4 --dim seq=3");
  EXPECT_EQ(given.at("operations").at(0).at("n"), 12);
  EXPECT_EQ(given.at("workload"), "net (batch=4, seq=3)");
  expect_refused("run " + net + " --dim batch=1,8", "--dim batch: one value is taken here, not 2");
  expect_refused("run " + net + " --dim batch=0", "--dim batch: must be an integer from 1 to");
  expect_refused("run " + net + " --dim bach=1", "nearest valid: 'batch'");
}

TEST_F(ImportProgram, ExtentsOfAnOnnxInputAreSet) {
  const std::string import = "import " SPTC_SOURCE_DIR "/tests/fuzz/corpus/onnx/convolution.onnx";
  const std::string by_dimension = run(import + " --dim batch=4").out;
  const std::string by_input = run(import + " --input x=4,16,9,9").out;
  EXPECT_FALSE(by_input.empty());
  EXPECT_EQ(by_input, by_dimension);
  expect_refused(import + " --input x", "--input must be NAME=V, for example x=1,3,224,224");
  expect_refused(import + " --input x=1,0,9,9", "--input x must be an integer from 1 to");
  expect_refused(import + " --input x=1,16,9,9 --input x=1,16,9,9", "--input: x is given twice");
  expect_refused(import + " --input y=1,16,9,9", "has no input 'y' (nearest valid: 'x'");
}

TEST_F(ImportProgram, ResultsGoToStandardOutputByName) {
  const std::string net = write("net.json", kParametric);
  const std::string plain = run("import " + net).out;
  EXPECT_EQ(run("import " + net + " --out -").out, plain);
  EXPECT_EQ(run("import " + net + " --out /dev/stdout").out, plain);
  EXPECT_FALSE(std::filesystem::exists(path("-")));
  const std::string report = " --fidelity analytic --format csv --quiet";
  EXPECT_EQ(run("run " + net + report + " --out -").out, run("run " + net + report).out);
}

TEST_F(ImportProgram, OtherFormatsAreWritten) {
  const std::string net = write("net.json", kParametric);
  EXPECT_EQ(run("import " + net + " --to scalesim").out, "Layer, M, N, K, Sparsity,\nx, 16, 64, 32, 2:4,\n");
  expect_has(run("import " + net + " --to timeloop").out, "M: 64, N: 16, K: 32");
  expect_refused("import " + net + " --to timelop", "nearest valid: 'timeloop'");
}

TEST_F(ImportProgram, TokensFirstIsForCsv) {
  const std::string csv = write("x.csv", "M,N,K,extra\n384,4096,1024,1\n384,1024,4096,1\n");
  const support::ProgramOutcome plain = run("import " + csv);
  expect_has(plain.err, "note: columns that are not read: 'extra'");
  expect_has(plain.err, "note: m looks like tokens");
  const support::ProgramOutcome swapped = run("import " + csv + " --convention tokens-first");
  EXPECT_EQ(nlohmann::json::parse(swapped.out).at("ops").at(0).at("m"), 4096);
  expect_lacks(swapped.err, "tokens");
  expect_refused("import " + write("net.json", kParametric) + " --convention tokens-first",
                 "only a CSV of m, n, k leaves it open");
}

TEST_F(ImportProgram, CompressedWorkloadsRun) {
  for (const std::string& packed :
       {support::gzipped(kParametric), support::xz_packed(kParametric), support::zstd_packed(kParametric)}) {
    expect_output("run " + write("packed", packed) + " --fidelity analytic --format csv", "\nx,");
  }
}

}  // namespace
}  // namespace sptc::cli
