// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"

#include "sim/workload/input/json_elements.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/packed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace sptc::workload::importer {
namespace {

Recording read(std::string text, const std::string& name = "x") {
  input::InputStream input(std::move(text), name);
  return read_recording(input);
}

constexpr const char* kWorkload = R"({"schema": "gemm-workload/0.1", "name": "w", "ops": [
  {"name": "g", "m": 16, "n": 8, "k": 32, "count": 3, "dtype": "s8", "b": "zeros"},
  {"name": "c", "kind": "conv2d", "conv": {"N": 1, "C": 16, "H": 8, "W": 8, "K": 8, "R": 3, "S": 3,
   "pad": [1, 1], "stride": [2, 1]}}]})";

TEST(Recording, OwnJsonIsReadByContentAndNeedsNoAccount) {
  const Recording recording = read(support::gzipped(kWorkload), "no-extension");
  EXPECT_EQ(recording.workload.operations.size(), 2);
  EXPECT_EQ(account_text(recording), "");
}

TEST(Recording, AnAccountObeysNothingOfTheRecordingAndHasLinesThatCanBeRead) {
  Recording recording = read(kWorkload);
  recording.account.format = "log";
  recording.account.notes = {"\x1b[2J\xff", std::string(100'000, 'x')};
  const std::string text = account_text(recording);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("note: \\x1b[2J\\xff\n"), std::string::npos) << text;
  EXPECT_LT(text.size(), 1000U);
}

TEST(Recording, JsonHasNoNulByte) {
  const std::string text = R"({"schemaVersion": 1, "traceEvents": [], "a": ""})";
  support::expect_input_error([&] { read(text + '\0' + " {"); }, {"x: not valid JSON: it holds a NUL byte"});
}

TEST(Recording, OwnCsvIsReadByContent) {
  EXPECT_EQ(read("m,n,k\n16,8,32\n").workload.operations.at(0).shape, (base::GemmShape{16, 8, 32}));
}

TEST(Recording, WrittenJsonIsReadBackTheSame) {
  const std::string text = workload_json(read(kWorkload));
  EXPECT_EQ(workload_json(read(text)), text);
  const Workload again = parse_workload_json(text, "x.json");
  EXPECT_EQ(again.operations.at(0).count, 3);
  EXPECT_EQ(again.operations.at(0).dtype, numerics::DataType::kS8);
  EXPECT_TRUE(again.operations.at(0).b_is_zero);
  EXPECT_EQ(again.operations.at(1).conv->stride, (std::array<std::int64_t, 2>{2, 1}));
  EXPECT_EQ(again.operations.at(1).shape, (base::GemmShape{8, 32, 144}));
}

TEST(Recording, WhatWasRecordedIsReadBackTheSame) {
  Recording recording = read(kWorkload);
  recording.workload.source = "s";
  recording.workload.operations[0].recorded = {12.5, "kernel", "f32", true, {128, 64, 32}, 3, 2, "BIAS", true};
  recording.workload.not_taken.push_back({"n", {1, 2, 0}, 4, "f32", 5, 1.25, "why"});
  const Workload again = parse_workload_json(workload_json(recording), "x.json");
  EXPECT_EQ(again.source, "s");
  EXPECT_EQ(again.operations.at(0).recorded.time_us, 12.5);
  EXPECT_EQ(again.operations.at(0).recorded.kernel, "kernel");
  EXPECT_EQ(again.operations.at(0).recorded.d_dtype, "f32");
  EXPECT_TRUE(again.operations.at(0).recorded.sparse);
  EXPECT_EQ(again.operations.at(0).recorded.tile, (base::GemmShape{128, 64, 32}));
  EXPECT_EQ(again.operations.at(0).recorded.stages, 3);
  EXPECT_EQ(again.operations.at(0).recorded.split_k, 2);
  EXPECT_EQ(again.operations.at(0).recorded.epilogue, "BIAS");
  EXPECT_TRUE(again.operations.at(0).recorded.adds_c);
  ASSERT_EQ(again.not_taken.size(), 1);
  EXPECT_EQ(again.not_taken[0].shape, (base::GemmShape{1, 2, 0}));
  EXPECT_EQ(again.not_taken[0].batch, 4);
  EXPECT_EQ(again.not_taken[0].count, 5);
  EXPECT_EQ(again.not_taken[0].time_us, 1.25);
  EXPECT_EQ(again.not_taken[0].reason, "why");
}

TEST(Recording, JsonOfAnotherProgramIsNamedByItsKeys) {
  support::expect_input_error([] { read(R"({"name": "npm", "dependencies": {"ops": 1}})"); },
                              {"x: this JSON is neither a workload (", "nor a recording", "name, dependencies"});
}

TEST(Recording, OutputWithoutShapesIsNamed) {
  support::expect_input_error([] { read("==PROF== Connected\n\"ID\",\"Kernel Name\"\n"); },
                              {"x: a report of Nsight Compute says no m, n and k", "traces/README.md"});
  support::expect_input_error([] { read("[11/24/2026-10:00:00] [I] [TRT] Loaded\n"); },
                              {"x: a log of TensorRT says no m, n and k"});
  support::expect_input_error([] { read("-kernel name = k\n#traces format = PC mask\n"); },
                              {"x: a trace of SASS instructions says no m, n and k"});
  support::expect_input_error([] { read(R"({"workload_graph": []})"); }, {"x: a graph of Chakra says no m, n and k"});
}

TEST(Recording, OtherFilesAreRefused) {
  support::expect_input_error([] { read("hello\n"); }, {"x: neither a workload nor a recording"});
  support::expect_input_error([] { read(""); }, {"x: neither a workload nor a recording"});
  support::expect_input_error([] { read("{"); }, {"x: line 1, column 2: not valid JSON"});
}

TEST(Recording, DimensionsThatNothingUsesAreRefused) {
  input::InputStream input(kWorkload, "x");
  support::expect_input_error([&] { read_recording(input, {{{"batch", 8}}}); }, {"x has no open dimension 'batch'"});
}

TEST(Recording, StandardInputIsReadOnce) {
  support::expect_input_error(
      [] {
        read_recordings("-", {{"batch", {1, 2}}});
      },
      {"--dim: standard input is read once, so each dimension has one value; name a file instead"});
}

TEST(Recording, KeysOfTheOutermostObjectOnly) {
  EXPECT_EQ(input::top_level_keys(R"( {"a": {"b": [1, {"c": "d"}]}, "e\"": "x", "f": [)"),
            (std::vector<std::string>{"a", "e\\\"", "f"}));
  EXPECT_TRUE(input::top_level_keys("[1, 2]").empty());
  EXPECT_TRUE(input::top_level_keys("x {\"a\": 1}").empty());
  EXPECT_EQ(input::top_level_keys("{\"a\\").size(), 0);
}

Recording empty_recording() {
  Recording recording;
  recording.workload.source = "s";
  recording.account.format = "format";
  return recording;
}

NotTaken not_taken(const std::string& name, std::int64_t count, double each_us, const std::string& reason) {
  NotTaken launch;
  launch.name = name;
  launch.count = count;
  launch.time_us = each_us;
  launch.reason = reason;
  return launch;
}

TEST(Account, SharesAreOfTheRecordedKernelTime) {
  Recording recording = empty_recording();
  recording.account.gpu = "GPU";
  recording.account.kernels_us = 100;
  recording.account.notes = {"of the account"};
  recording.workload.notes = {"of the workload"};
  recording.workload.operations.resize(2);
  recording.workload.operations[0].recorded.time_us = 20;
  recording.workload.operations[1].recorded.time_us = 10;
  recording.workload.operations[1].count = 2;
  NotTaken launch = not_taken("g", 1, 12.5, "why");
  launch.shape = {1, 2, 3};
  launch.dtype = "f64";
  recording.workload.not_taken = {launch};
  // 20 and 2 of 10 are taken, 12.5 are not, 47.5 are left.
  EXPECT_EQ(account_text(recording),
            "s; recorded on GPU\n"
            "  taken: 3 launches of 2 shapes, 40.0 us, 40.0 % of the recorded kernel time\n"
            "  not taken: 1 launch, 12.5 us, 12.5 % of the recorded kernel time\n"
            "    1 launch, 12.5 us, 12.5 % of the recorded kernel time: why\n"
            "      1 x g 1 x 2 x 3 f64\n"
            "  other kernels: 47.5 us, 47.5 % of the recorded kernel time\n"
            "  note: of the account\n"
            "  note: of the workload\n");
}

TEST(Account, OfManyReasonsTheMostFrequentAreSaidAndTheRestCounted) {
  constexpr std::int64_t kReasons = 14, kSaid = 12;
  Recording recording = empty_recording();
  for (std::int64_t i = 1; i <= kReasons; ++i) {
    recording.workload.not_taken.push_back(not_taken("g", 10 + i, 0, "r" + std::to_string(i)));
  }
  // 11 + 12 + .. + 24 = 245
  std::string expected = "s\n  taken: 0 launches of 0 shapes\n  not taken: 245 launches\n";
  for (std::int64_t i = kReasons; i > kReasons - kSaid; --i) {
    const std::string count = std::to_string(10 + i);
    expected += "    " + count + " launches: r" + std::to_string(i) + "\n      " + count + " x g\n";
  }
  EXPECT_EQ(account_text(recording), expected + "    and 2 more reasons\n");
}

TEST(Account, OfOneReasonThreeLaunchesAreSaidAndTheRestCounted) {
  Recording recording = empty_recording();
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    recording.workload.not_taken.push_back(not_taken(name, 1, 0, "why"));
  }
  EXPECT_EQ(account_text(recording),
            "s\n  taken: 0 launches of 0 shapes\n  not taken: 5 launches\n"
            "    5 launches: why\n      1 x a\n      1 x b\n      1 x c\n      and 2 more\n");
}

TEST(Account, WhatIsNotTakenIsAnErrorWhereAllMustBe) {
  Recording recording = empty_recording();
  recording.workload.file = "f";
  EXPECT_NO_THROW(require_all_taken(recording));
  recording.workload.not_taken = {not_taken("a", 2, 0, "why"), not_taken("b", 3, 0, "more")};
  support::expect_input_error([&] { require_all_taken(recording); },
                              {"--strict: 5 launches of f are not taken; the first, a: why"});
}

}  // namespace
}  // namespace sptc::workload::importer
