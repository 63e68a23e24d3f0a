// SPDX-License-Identifier: Apache-2.0
#include "sim/io/text_file.h"
#include "sim/workload/expert_shares.h"
#include "sim/workload/workload_text.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <fmt/format.h>

namespace sptc::workload {
namespace {

using numerics::DataType;

/// A workload with these operations and, before them, these top-level keys.
std::string workload(const std::string& ops, const std::string& top = "") {
  return R"({"schema": "gemm-workload/0.1", )" + top + R"("ops": [)" + ops + "]}";
}

Workload parse(const std::string& text) {
  return parse_workload_json(text, "dir/w.json");
}

Operation parse_one(const std::string& op) {
  return parse(workload(op)).operations.at(0);
}

void expect_refused(const std::string& text, std::initializer_list<std::string_view> parts) {
  support::expect_input_error([&] { parse(text); }, parts);
}

constexpr const char* kGemm = R"({"name": "x", "m": 16, "n": 8, "k": 32})";

std::string conv(const std::string& geometry, const std::string& op = "") {
  return R"({"name": "c", "kind": "conv2d", )" + op + R"("conv": {)" + geometry + "}}";
}

constexpr const char* kGeometry =
    R"("N": 2, "C": 32, "H": 9, "W": 11, "K": 64, "R": 3, "S": 5, "stride": [2, 1], "pad": [1, 2],
       "dilation": [1, 2], "groups": 2)";

TEST(WorkloadJson, ReadsAGemmWithDefaults) {
  const Workload read = parse(workload(kGemm));
  EXPECT_EQ(read.name, "w");
  const Operation& op = read.operations.at(0);
  EXPECT_EQ(op.shape, (base::GemmShape{16, 8, 32}));
  EXPECT_EQ(op.dtype, DataType::kF16);
  EXPECT_EQ(op.batch, 1);
  EXPECT_EQ(op.count, 1);
  EXPECT_TRUE(op.prunable) << "16 x 32 passes the rule of ASP";
  EXPECT_FALSE(op.conv || op.tensors || read.network);
}

TEST(WorkloadJson, ReadsEveryKeyOfAnOperation) {
  const Workload read = parse(workload(R"({"name": "x", "kind": "gemm", "m": 7, "n": 8, "k": 9, "batch": 2, "count": 3,
                   "dtype": "s8", "trans_a": true, "trans_b": false, "prunable_2_4": true,
                   "weight_operand": "A", "a_role": "weight", "note": "free text"})",
                                       R"("name": "two words", "default_dtype": "bf16", "notes": [], )"));
  EXPECT_EQ(read.name, "two words");
  const Operation& op = read.operations.at(0);
  EXPECT_EQ(op.batch, 2);
  EXPECT_EQ(op.count, 3);
  EXPECT_EQ(op.dtype, DataType::kS8);
  EXPECT_TRUE(op.prunable);
  EXPECT_EQ(op.total_macs(), 7 * 8 * 9 * 2 * 3);
}

TEST(WorkloadJson, DoesNotPruneActivationsOrShapesThatAspRefuses) {
  EXPECT_FALSE(parse_one(R"({"name": "x", "m": 16, "n": 8, "k": 24})").prunable);
  EXPECT_FALSE(parse_one(R"({"name": "x", "m": 12, "n": 8, "k": 32})").prunable);
  EXPECT_FALSE(parse_one(R"({"name": "x", "m": 16, "n": 8, "k": 32, "weight_operand": null})").prunable);
  expect_refused(workload(R"({"name": "x", "m": 16, "n": 8, "k": 32, "weight_operand": null,
                              "prunable_2_4": true})"),
                 {"/ops/0/prunable_2_4", "weight_operand is null"});
}

TEST(WorkloadJson, LowersAConvolutionToAnImplicitGemmPerGroup) {
  const Operation op = parse_one(conv(kGeometry));
  // P = (9 + 2*1 - 1*(3-1) - 1)/2 + 1 = 5, Q = (11 + 2*2 - 2*(5-1) - 1)/1 + 1 = 7.
  EXPECT_EQ(op.conv->p, 5);
  EXPECT_EQ(op.conv->q, 7);
  EXPECT_EQ(op.shape, (base::GemmShape{64 / 2, 2 * 5 * 7, 3 * 5 * 32 / 2}));
  EXPECT_EQ(op.batch, 2);
  EXPECT_TRUE(op.prunable);
}

TEST(WorkloadJson, KnowsWhichShareOfBIsDistinctWhereWindowsOverlap) {
  // 9 x 11 pixels are read as 5 x 7 windows of 3 x 5.
  EXPECT_DOUBLE_EQ(parse_one(conv(kGeometry)).distinct_b(), 9.0 * 11 / (5 * 7 * 3 * 5));
  // A strided 1 x 1 leaves pixels out: what it reads is distinct.
  EXPECT_DOUBLE_EQ(parse_one(conv(R"("N": 1, "C": 32, "H": 8, "W": 8, "K": 16, "R": 1, "S": 1,
                                     "stride": [2, 2], "pad": [0, 0])"))
                       .distinct_b(),
                   1);
  EXPECT_DOUBLE_EQ(parse_one(kGemm).distinct_b(), 1);
}

TEST(WorkloadJson, RefusesExtentsThatDisagreeWithTheConvolution) {
  EXPECT_NO_THROW(parse_one(conv(kGeometry, R"("m": 32, "n": 70, "k": 240, "batch": 2, )")));
  expect_refused(workload(conv(kGeometry, R"("m": 64, )")),
                 {"dir/w.json: /ops/0/m: 64 stated, but the convolution geometry gives 32"});
  expect_refused(workload(conv(kGeometry, R"("n": 71, )")), {"/ops/0/n: 71 stated", "70"});
  expect_refused(workload(conv(kGeometry, R"("k": 480, )")), {"/ops/0/k: 480 stated", "240"});
  expect_refused(workload(conv(kGeometry, R"("batch": 1, )")), {"/ops/0/batch: 1 stated", "2"});
  expect_refused(workload(conv(std::string(kGeometry) + R"(, "P": 4)")),
                 {"/ops/0/conv/P: 4 stated, but the geometry gives 5"});
}

TEST(WorkloadJson, RefusesConvolutionsThatMakeNoSense) {
  const std::string base = R"("N": 1, "C": 16, "H": 4, "W": 4, "K": 8, "R": 3, "S": 3)";
  EXPECT_NO_THROW(parse_one(conv(base)));
  expect_refused(workload(conv(base + R"(, "groups": 3)")), {"/ops/0/conv/groups: 3 does not divide"});
  expect_refused(workload(conv(base + R"(, "dilation": [2, 1])")), {"/ops/0/conv: the dilated filter does not fit"});
  expect_refused(workload(conv(base + R"(, "stride": [0, 1])")), {"/ops/0/conv/stride/0"});
  expect_refused(workload(conv(base + R"(, "pad": [-1, 0])")), {"/ops/0/conv/pad/0"});
  expect_refused(workload(conv(base + R"(, "pad": [1, 1, 1])")), {"/ops/0/conv/pad", "2 elements"});
  expect_refused(workload(conv(base + R"(, "layout": "NCHW")")), {"/ops/0/conv/layout", "NHWC"});
  expect_refused(workload(conv(base + R"(, "padding": [1, 1])")), {"'padding'", "'pad'"});
  expect_refused(workload(conv(R"("N": 2147483647, "C": 16, "H": 4, "W": 4, "K": 8, "R": 1, "S": 1)")),
                 {"/ops/0/conv: the implicit GEMM has n above 2147483647"});
  expect_refused(workload(R"({"name": "c", "kind": "conv2d"})"), {"'conv' is missing"});
  expect_refused(workload(R"({"name": "x", "kind": "gemm", "m": 1, "n": 1, "k": 1, "conv": {}})"), {"/ops/0/conv"});
}

TEST(WorkloadJson, RefusesUnknownKeysWithTheNearest) {
  expect_refused(workload(R"({"name": "x", "m": 1, "n": 1, "k": 1, "cuont": 2})"),
                 {"dir/w.json: /ops/0: unknown key 'cuont' (nearest valid: 'cut', 'count'"});
  expect_refused(workload(kGemm, R"("defualt_dtype": "f16", )"),
                 {"top level: unknown key 'defualt_dtype' (nearest valid: 'default_dtype'"});
}

TEST(WorkloadJson, RefusesWrongTypesAndMissingKeys) {
  expect_refused(workload(R"({"name": "x", "m": "16", "n": 1, "k": 1})"), {"/ops/0/m", "\"16\""});
  expect_refused(workload(R"({"name": "x", "m": 1.5, "n": 1, "k": 1})"), {"/ops/0/m", "1.5"});
  expect_refused(workload(R"({"name": 3, "m": 1, "n": 1, "k": 1})"), {"/ops/0/name", "string"});
  expect_refused(workload(R"({"name": "x", "m": 1, "n": 1})"), {"/ops/0: the key 'k' is missing"});
  expect_refused(workload("5"), {"/ops/0: must be an object, not 5"});
  expect_refused("[]", {"top level: must be an object, not an array"});
  expect_refused(workload(R"({"name": "x", "m": 1, "n": 1, "k": 1, "trans_a": 1})"),
                 {"/ops/0/trans_a: must be true or false"});
  expect_refused(workload(R"({"name": "x", "m": 1, "n": 1, "k": 1, "weight_operand": "B"})"),
                 {"/ops/0/weight_operand: must be \"A\""});
}

TEST(WorkloadJson, ReadsWhatSurroundsAnOperation) {
  const std::string gemm = R"({"name": "x", "m": 1, "n": 1, "k": 1, )";
  const Operation op = parse_one(gemm + R"("b": "zeros", "group": "layer 0", "rest_ns": 1500, "rest_bytes": 64})");
  EXPECT_TRUE(op.b_is_zero);
  EXPECT_EQ(op.group, "layer 0");
  EXPECT_EQ(op.rest.ns, 1500);
  EXPECT_EQ(op.rest.bytes, 64);
  expect_refused(workload(gemm + R"("b": "ones"})"), {"/ops/0/b: must be \"zeros\""});
  expect_refused(workload(gemm + R"("group": 3})"), {"/ops/0/group"});
  expect_refused(workload(gemm + R"("rest_ns": -1})"), {"/ops/0/rest_ns", "-1"});
  expect_refused(workload(gemm + R"("rest_ns": 1.5})"), {"/ops/0/rest_ns", "1.5"});
  expect_refused(workload(gemm + R"("rest_ns": 1e30})"), {"/ops/0/rest_ns"});
  expect_refused(workload(gemm + R"("rest_bytes": 64})"), {"/ops/0/rest_bytes", "without rest_ns"});
}

TEST(WorkloadJson, RefusesSizesThatAreNoPositive32BitInteger) {
  for (const char* key : {"m", "n", "k", "batch", "count"}) {
    for (const char* value : {"0", "-1", "2147483648", "18446744073709551615", "1e30", "null"}) {
      const std::string op =
          fmt::format(R"({{"name": "x"{}, "{}": {}}})",
                      std::string_view(key).size() == 1 ? "" : R"(, "m": 1, "n": 1, "k": 1)", key, value);
      std::string complete = op;
      for (const std::string other : {"m", "n", "k"}) {
        if (complete.find("\"" + other + "\"") == std::string::npos) {
          complete.insert(complete.size() - 1, ", \"" + other + "\": 1");
        }
      }
      expect_refused(workload(complete), {std::string("/ops/0/") + key + ": must be an integer from 1 to 2147483647"});
    }
  }
}

TEST(WorkloadJson, RefusesMacsBeyond64Bits) {
  const std::string big = R"({"name": "x", "m": 2147483647, "n": 2147483647, "k": 2})";
  expect_refused(workload(R"({"name": "x", "m": 2147483647, "n": 2147483647, "k": 2147483647})"),
                 {"/ops/0: m*n*k*batch*count", "exceeds 64 bits"});
  EXPECT_NO_THROW(parse(workload(big)));
  expect_refused(workload(big + "," + big), {"/ops/1: m*n*k*batch*count"});
}

TEST(WorkloadJson, RefusesARecordedTileThatIsNone) {
  const auto recorded = [](const std::string& keys) {
    return workload(R"({"name": "x", "m": 16, "n": 8, "k": 32, "recorded": {)" + keys + "}}");
  };
  EXPECT_EQ(parse(recorded(R"("tile": [128, 64, 32], "split_k": 2)")).operations[0].recorded.tile,
            (base::GemmShape{128, 64, 32}));
  expect_refused(recorded(R"("tile": [128, 64])"), {"/ops/0/recorded/tile: must have 3 elements (m, n, k), not 2"});
  expect_refused(recorded(R"("tile": [128, 64, 0])"), {"/ops/0/recorded/tile/2: must be an integer"});
  expect_refused(recorded(R"("stages": -1)"), {"/ops/0/recorded/stages: must be an integer from 0"});
}

TEST(WorkloadJson, RefusesAnEmptyListTheWrongSchemaAndUnknownKinds) {
  expect_refused(workload(""), {"/ops: must not be empty"});
  expect_refused(R"({"schema": "gemm-workload/9", "ops": []})",
                 {"/schema: unknown schema 'gemm-workload/9'", "gemm-workload/0.2"});
  expect_refused(R"({"ops": []})", {"'schema' is missing"});
  expect_refused(workload(R"({"name": "x", "kind": "gem"})"), {"'gem'", "nearest valid: 'gemm'"});
  expect_refused(workload(R"({"name": "x", "m": 1, "n": 1, "k": 1, "dtype": "fp17"})"),
                 {"/ops/0/dtype: unknown operand type 'fp17'", "'f16'"});
}

constexpr const char* kNetwork =
    R"("network": {"file": "sub/net.safetensors", "input": "x", "labels": "y", "classes": 10}, )";

TEST(WorkloadJson, ReadsANetworkAndItsTensors) {
  const Workload read = parse(workload(R"({"name": "fc1", "m": 16, "n": 8, "k": 32, "activation": "relu",
                   "tensors": {"weight": "w", "bias": "b", "sparse_weight": "sw",
                               "sparse_bias": "sb"}},
                  {"name": "fc2", "m": 16, "n": 8, "k": 32, "tensors": {"weight": "w2"}})",
                                       kNetwork));
  ASSERT_TRUE(read.network);
  EXPECT_EQ(read.network->file, "dir/sub/net.safetensors");
  EXPECT_EQ(read.network->input, "x");
  EXPECT_EQ(read.network->labels, "y");
  EXPECT_EQ(read.network->classes, 10);
  EXPECT_EQ(read.operations[0].activation, Activation::kRelu);
  EXPECT_EQ(read.operations[0].tensors->sparse_weight, "sw");
  EXPECT_EQ(read.operations[1].activation, Activation::kNone);
  EXPECT_EQ(read.operations[1].tensors->bias, "");
}

TEST(WorkloadJson, RefusesANetworkWithGaps) {
  expect_refused(workload(kGemm, kNetwork), {"/ops/0: the key 'tensors' is missing"});
  const std::string tensors = R"("tensors": {"weight": "w"})";
  expect_refused(workload(R"({"name": "x", "m": 1, "n": 1, "k": 1, )" + tensors + "}"),
                 {"/ops/0: 'tensors' and 'activation' need a 'network'"});
  expect_refused(workload(R"({"name": "x", "m": 1, "n": 1, "k": 1, "count": 2, )" + tensors + "}", kNetwork),
                 {"/ops/0/count: must be 1"});
  expect_refused(workload(R"({"name": "x", "m": 1, "n": 1, "k": 1,
                              "tensors": {"weight": "w", "sparse_bias": "b"}})",
                          kNetwork),
                 {"/ops/0/tensors/sparse_bias: needs sparse_weight"});
  expect_refused(workload(R"({"name": "x", "m": 1, "n": 1, "k": 1, "activation": "rleu", )" + tensors + "}", kNetwork),
                 {"'rleu'", "nearest valid: 'relu'"});
}

TEST(WorkloadJson, ConfinesTheTensorFileToItsDirectory) {
  const support::TemporaryDirectory directory;
  std::filesystem::create_directory_symlink("/etc", directory.path() / "link");
  const auto read = [&](const std::string& file) {
    const std::string op = R"({"name": "x", "m": 1, "n": 1, "k": 1, "tensors": {"weight": "w"}})";
    const std::string network =
        R"("network": {"file": ")" + file + R"(", "input": "x", "labels": "y", "classes": 10}, )";
    return parse_workload_json(workload(op, network), directory.path() / "w.json");
  };
  EXPECT_EQ(read("a/../net.safetensors").network->file, directory.path() / "net.safetensors");
  for (const char* file : {"../net.safetensors", "/etc/passwd", "a/../../x", "link/passwd", ".", "x\\u0000y"}) {
    support::expect_input_error([&] { read(file); }, {"/network/file", "not a file inside the directory"});
  }
}

TEST(ReadWorkload, RefusesOtherKindsOfFileMissingFilesAndHugeFiles) {
  const support::TemporaryDirectory directory;
  support::expect_input_error([] { read_workload("list.yaml"); }, {"list.yaml", "allowed: .json, .csv"});
  support::expect_input_error([&] { read_workload(directory.path() / "no.json"); }, {"no such file"});
  std::filesystem::create_directories(directory.path() / "d.csv");
  support::expect_input_error([&] { read_workload(directory.path() / "d.csv"); }, {"not a regular file"});
  io::write_file(directory.path() / "huge.json", std::string((16 << 20) + 1, ' '));
  support::expect_input_error([&] { read_workload(directory.path() / "huge.json"); }, {"at most 16777216"});
}

TEST(WorkloadJson, ReadsHowOperandsLieInMemory) {
  const Workload workload = parse_workload_json(
      R"({"schema": "gemm-workload/0.2", "dims": {"block": 64}, "ops": [
        {"name": "w", "m": 16, "n": 8, "k": 128, "weight_dtype": "s4", "scale_block": "block"},
        {"name": "x", "m": 16, "n": 8, "k": 128, "dtype": "e2m1", "scale_block": 16},
        {"name": "y", "m": 16, "n": 8, "k": 128, "dtype": "MXFP8"},
        {"name": "z", "m": 16, "n": 8, "k": 128, "dtype": "mxfp4", "scale_block": 32}]})",
      "x.json");
  EXPECT_EQ(workload.operations[0].storage, (kernels::OperandStorage{numerics::DataType::kS4, 64}));
  EXPECT_EQ(workload.operations[1].storage, (kernels::OperandStorage{std::nullopt, 16}));
  EXPECT_EQ(workload.operations[2].storage, (kernels::OperandStorage{std::nullopt, 32}));
  EXPECT_EQ(workload.operations[2].dtype, numerics::DataType::kE4m3);
  EXPECT_EQ(workload.operations[3].storage, (kernels::OperandStorage{std::nullopt, 32}));
  const Workload all = parse_workload_json(
      R"({"schema": "gemm-workload/0.2", "default_dtype": "nvfp4", "ops": [
        {"name": "x", "m": 16, "n": 8, "k": 128},
        {"name": "y", "m": 16, "n": 8, "k": 128, "dtype": "f16"}]})",
      "x.json");
  EXPECT_EQ(all.operations[0].storage, (kernels::OperandStorage{std::nullopt, 16}));
  EXPECT_EQ(all.operations[1].storage, kernels::OperandStorage{});
}

/// Expects the operation "w" of 16 x 8 x 128 with these keys to be refused.
void refused(const std::string& keys, std::initializer_list<std::string_view> parts) {
  support::expect_input_error(
      [&] {
        parse_workload_json(R"({"schema": "gemm-workload/0.2", "ops": [)"
                            R"({"name": "w", "m": 16, "n": 8, "k": 128, )" +
                                keys + "}]}",
                            "x.json");
      },
      parts);
}

TEST(WorkloadJson, RefusesImpossibleStorage) {
  refused(R"("weight_dtype": "s5")", {"/ops/0/weight_dtype", "'s5'", "nearest valid: 's8'"});
  refused(R"("weight_dtype": "s4", "weight_operand": null)", {"A is no weight"});
  refused(R"("weight_dtype": "s4", "dtype": "s8")", {"multiplied as f16 or bf16"});
  refused(R"("dtype": "e2m1")", {"each 16 elements"});
  refused(R"("dtype": "f16", "scale_block": 32)", {"mxfp8"});
  refused(R"("dtype": "nvfp4", "scale_block": 32)", {"/ops/0/scale_block", "is 32, but nvfp4 has blocks of 16"});
}

TEST(WorkloadJson, ExpertsShareTheTokensOfAnOperation) {
  const Workload workload = parse_workload_json(
      R"({"schema": "gemm-workload/0.2", "ops": [
        {"name": "up", "m": 16, "n": 10, "k": 32, "expert_shares": [0.5, 0.2, 0.2, 0.1, 0]},
        {"name": "gate", "kind": "gate", "rows": 10, "columns": 8}]})",
      "x.json");
  ASSERT_EQ(workload.operations.size(), 3U);
  const auto is = [&](std::size_t i, const char* name, std::int64_t n, std::int64_t batch) {
    EXPECT_EQ(workload.operations[i].name, name);
    EXPECT_EQ(workload.operations[i].part_of, "up");
    EXPECT_EQ(workload.operations[i].shape.n, n);
    EXPECT_EQ(workload.operations[i].batch, batch);
  };
  is(0, "up.n5", 5, 1);
  is(1, "up.n2", 2, 2);
  is(2, "up.n1", 1, 1);
  EXPECT_EQ(workload.vectors.at(0).after, 3U);
  EXPECT_EQ(tokens_of_experts(2, {0.4, 0.35, 0.25}), (std::vector<std::int64_t>{1, 1, 0}));
}

TEST(WorkloadJson, RefusesSharesThatAreNone) {
  refused(R"("expert_shares": [0.5, 0.6])", {"/ops/0/expert_shares", "sum is 1", "1.1"});
  refused(R"("expert_shares": [0.5, "x"])", {"/ops/0/expert_shares/1"});
  refused(R"("expert_shares": [0.5, 0.5], "batch": 2)", {"without 'batch'"});
}

TEST(WorkloadJson, ReadsAndWritesHowAWeightIsCut) {
  const std::string gemm = R"({"name": "x", "m": 16, "n": 8, "k": 32, "cut": )";
  EXPECT_FALSE(parse_one(kGemm).cut);
  EXPECT_EQ(parse_one(gemm + R"("m"})").cut, Cut::kM);
  EXPECT_EQ(parse_one(gemm + R"("none"})").cut, Cut::kNone);
  const Operation op = parse_one(gemm + R"("k"})");
  EXPECT_EQ(op.cut, Cut::kK);
  EXPECT_EQ(parse(gemms_as_text("x", {&op, 1}).text).operations.at(0).cut, Cut::kK);
  EXPECT_EQ(parse_one(conv(kGeometry, R"("cut": "none", )")).cut, Cut::kNone);
  expect_refused(workload(conv(kGeometry, R"("cut": "m", )")), {"/ops/0/cut", "convolution"});
  refused(R"("cut": "n")", {"/ops/0/cut", "must be one of", "'n'"});
  refused(R"("cut": "m", "weight_operand": null)", {"/ops/0/cut", "A is no weight"});
}

}  // namespace
}  // namespace sptc::workload
