// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/kernel/kernel_file.h"

#include "sim/compare/vectors/bit_array.h"
#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/sim/compare/kernel/synthetic_kernel.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <string>

namespace sptc::compare::kernel {
namespace {

using nlohmann::json;
using numerics::DataType;

class KernelFile : public testing::Test {
 protected:
  const support::TemporaryDirectory temporary;
  const SyntheticKernel kernel{"A100", "mma.sp.m16n8k32.f32.f16.f16.f32", 32, 24, 64};

  KernelFile() {
    io::write_npy(path("a.npy"), kernel.compressed.values, DataType::kF16);
    io::write_npy(path("dense.npy"), kernel.a, DataType::kF16);
    io::write_npy(path("b.npy"), kernel.b_columns.transposed(), DataType::kF16);
    io::write_npy(path("b_columns.npy"), kernel.b_columns, DataType::kF16);
    io::write_npy(path("d.npy"), kernel.compute(), DataType::kF32);
    vectors::write_bit_array(path("e.npy"), kernel.data.metadata->array.reshaped({32, 4}));
  }

  std::filesystem::path path(const std::string& name) const { return temporary.path() / name; }

  static json valid() {
    return {{"schema", "sptcsim-kernel/0.1"},
            {"name", "spmm"},
            {"architecture", "A100"},
            {"instruction", "mma.sp.m16n8k32.f32.f16.f16.f32"},
            {"a", {{"file", "a.npy"}}},
            {"metadata", {{"file", "e.npy"}, {"layout", "canonical"}}},
            {"b", {{"file", "b.npy"}}},
            {"d", {{"file", "d.npy"}}}};
  }

  KernelCase read(const json& file) const {
    return parse_kernel_file(file.dump(), "kernel.json", temporary.path());
  }

  bool bit_exact(const json& file) const {
    const KernelCase read_back = read(file);
    return crosscheck_kernel(read_back.data, read_back.declared, read_back.target, 1).bit_exact();
  }

  /// Expects that the file with `change` is refused with a sentence that contains `parts`.
  void expect_refused(const std::function<void(json&)>& change,
                      std::initializer_list<std::string_view> parts) const {
    json file = valid();
    change(file);
    support::expect_input_error([&] { read(file); }, parts);
  }
};

TEST_F(KernelFile, HoldsAKernelThatIsRight) {
  io::write_file(path("kernel.json"), valid().dump());
  const KernelCase from_file = read_kernel_file(path("kernel.json"));
  EXPECT_EQ(from_file.name, "spmm");
  EXPECT_EQ(from_file.data.m, 32U);
  EXPECT_EQ(from_file.data.n, 24U);
  EXPECT_EQ(from_file.data.k, 64U);
  EXPECT_TRUE(bit_exact(valid()));
}

TEST_F(KernelFile, TakesColumnsAndSafetensors) {
  json file = valid();
  file["b"] = {{"file", "b_columns.npy"}, {"order", "column"}};
  EXPECT_TRUE(bit_exact(file));
  const io::Tensor tensors[] = {
      io::make_tensor("weight", kernel.compressed.values, DataType::kF16),
      io::make_tensor("input", kernel.b_columns.transposed(), DataType::kF16),
      io::make_tensor("output", kernel.compute(), DataType::kF32)};
  io::write_safetensors(path("all.safetensors"), tensors);
  file["a"] = {{"file", "all.safetensors"}, {"tensor", "weight"}};
  file["b"] = {{"file", "all.safetensors"}, {"tensor", "input"}};
  file["d"] = {{"file", "all.safetensors"}, {"tensor", "output"}};
  EXPECT_TRUE(bit_exact(file));
  file["a"].erase("tensor");
  support::expect_input_error([&] { read(file); }, {"/a", "several tensors"});
}

TEST_F(KernelFile, TakesTheTypeOfDThatItsFileSays) {
  EXPECT_EQ(read(valid()).data.d_type, DataType::kF32);
  io::write_npy(path("half.npy"), base::Matrix<numerics::Word>(32, 24), DataType::kF16);
  vectors::write_bit_array(path("words.npy"), vectors::make_bit_array({32, 24}, 4));
  json file = valid();
  file["d"]["file"] = "half.npy";
  EXPECT_EQ(read(file).data.d_type, DataType::kF16);
  file["d"]["file"] = "words.npy";  // bits: those of the accumulator
  EXPECT_EQ(read(file).data.d_type, DataType::kF32);
  file["d"]["type"] = "f16";
  support::expect_input_error([&] { read(file); }, {"/d", "bits of f16"});
}

TEST_F(KernelFile, TakesADenseAThatIsPrunedOnTheWay) {
  json file = valid();
  file.erase("metadata");
  file["a"] = {{"file", "dense.npy"}, {"prune", "magnitude"}};
  EXPECT_TRUE(bit_exact(file));
  file["a"].erase("prune");
  support::expect_input_error([&] { read(file); }, {"row 0, group"});
}

TEST_F(KernelFile, ChoosesTheDeepestInstructionOfTheTypes) {
  json file = valid();
  file.erase("instruction");
  file.erase("architecture");
  file["types"] = {{"a", "f16"}};
  file["sparse"] = true;
  const KernelCase chosen = read(file);
  EXPECT_EQ(chosen.declared.instruction, kernel.declared.instruction);
  EXPECT_EQ(chosen.target.name, "sm_80");
}

TEST_F(KernelFile, ReadsTheOrderAlongK) {
  json file = valid();
  file["k_order"] = {{"split_k", 2}, {"reduction", "parallel"}, {"c", "epilogue"}, {"tile_k", 32}};
  const KOrder order = read(file).declared.order;
  EXPECT_EQ(order.slices, 2);
  EXPECT_EQ(order.reduction, Reduction::kParallel);
  EXPECT_TRUE(order.c_in_epilogue);
  EXPECT_EQ(order.granule, 32);
}

TEST_F(KernelFile, RefusesWhatItDoesNotUnderstand) {
  expect_refused([](json& f) { f["schema"] = "x"; }, {"/schema", "sptcsim-kernel/0.1"});
  expect_refused([](json& f) { f["metdata"] = 1; }, {"metdata", "metadata"});
  expect_refused([](json& f) { f["architecture"] = "A200"; }, {"/architecture", "A100"});
  expect_refused([](json& f) { f["instruction"] = "m16n8k7.f32.f16.f16.f32"; },
                 {"/instruction", "near ones"});
  expect_refused([](json& f) { f["instruction"] = "mma.m8n8k4.f64.f64.f64.f64"; }, {"f64"});
  expect_refused([](json& f) { f["types"] = {{"a", "f16"}}; }, {"either"});
  expect_refused([](json& f) { f["sparse"] = true; }, {"/sparse"});
  expect_refused([](json& f) { f["d"]["type"] = "s32"; }, {"/d/type", "f32, f16, bf16"});
  expect_refused([](json& f) { f["metadata"]["layout"] = "row"; },
                 {"/metadata/layout", "canonical"});
  expect_refused([](json& f) { f["metadata"]["selector"] = 1; }, {"/metadata/selector", "lanes"});
  expect_refused([](json& f) { f["k_order"] = {{"split_k", 0}}; }, {"/k_order/split_k"});
  expect_refused([](json& f) { f["k_order"] = {{"reduction", "tree"}}; }, {"split_k"});
  expect_refused(
      [](json& f) {
        f["k_order"] = {{"split_k", 2}, {"reduction", "trees"}};
      },
      {"/k_order/reduction", "'tree'"});
  expect_refused([](json& f) { f["a"]["prune"] = "magnitude"; }, {"/a/prune"});
  expect_refused([](json& f) { f.erase("d"); }, {"d"});
  support::expect_input_error([&] { parse_kernel_file("[", "kernel.json", temporary.path()); },
                              {"kernel.json", "line 1"});
}

TEST_F(KernelFile, RefusesTensorsThatDoNotFit) {
  expect_refused([](json& f) { f["a"]["file"] = "none.npy"; }, {"none.npy", "no such file"});
  expect_refused([](json& f) { f["a"]["file"] = "d.npy"; }, {"/a", "F32", "f16"});
  expect_refused([](json& f) { f["a"]["file"] = "dense.npy"; }, {"A must be [32, 32]"});
  expect_refused([](json& f) { f["b"]["file"] = "b_columns.npy"; }, {"must be"});
  expect_refused([](json& f) { f["d"]["type"] = "f16"; }, {"/d", "bits of f16"});
  expect_refused([](json& f) { f.erase("metadata"); }, {"A must be [32, 64]"});
  expect_refused([](json& f) { f["metadata"]["file"] = "b.npy"; }, {"/metadata", "integers"});
  expect_refused([](json& f) { f["metadata"]["layout"] = "lanes"; }, {"metadata must hold"});
}

}  // namespace
}  // namespace sptc::compare::kernel
