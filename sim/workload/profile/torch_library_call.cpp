// SPDX-License-Identifier: Apache-2.0
#include "models/base/shape.h"
#include "sim/workload/profile/torch_products.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace sptc::workload::profile {
namespace {

using Extents = std::vector<std::int64_t>;

enum class Kind {
  kLinear,    ///< x [.., k], W [n, k]
  kFourBits,  ///< the same of nvfp4, of which a byte holds two elements
  kSparse,    ///< x [m, k], values of W [n, k / 2], metadata
  kMarlin,    ///< x [m, k], .. W of 32-bit words [k / 16, n * bits / 2], scales [groups, n]
  kMarlin24,  ///< the same of 2:4 weights: W [k / 32, n * bits / 2]
  kAwq,       ///< x [m, k], W of 32-bit words [k, n / 8], scales [groups, n]
  kMachete,   ///< x [m, k], W of 32-bit words [k * bits / 32, n], .. scales [groups, n]
  kTinyGemm   ///< x [m, k], W [n / 8, ..], elements of a scale, scales [k / group, n, 2]
};

struct Row {
  std::string_view name;
  Kind kind;
  std::size_t first = 0;  ///< input that is the first operand
};

// Their schemas: vllm-project/vllm csrc/torch_bindings.cpp, sgl-project/sglang sgl-kernel,
// NVIDIA/TensorRT-LLM cpp/tensorrt_llm/thop, pytorch/FBGEMM, bitsandbytes, pytorch/pytorch
// native_functions.yaml.
constexpr Row kRows[] = {{"_C::marlin_gemm", Kind::kMarlin},
                         {"_C::gptq_marlin_gemm", Kind::kMarlin},
                         {"sgl_kernel::gptq_marlin_gemm", Kind::kMarlin},
                         {"_C::gptq_marlin_24_gemm", Kind::kMarlin24},
                         {"_C::awq_gemm", Kind::kAwq},
                         {"_C::machete_mm", Kind::kMachete},
                         {"_C::cutlass_scaled_sparse_mm", Kind::kSparse, 1},
                         {"_C::cutlass_scaled_fp4_mm", Kind::kFourBits, 1},
                         {"sgl_kernel::cutlass_scaled_fp4_mm", Kind::kFourBits, 1},
                         {"trtllm::fp4_gemm", Kind::kFourBits},
                         {"trtllm::nvfp4_gemm", Kind::kFourBits},
                         {"trtllm::fp8_block_scaling_gemm", Kind::kLinear},
                         {"vllm::w8a8_triton_block_scaled_mm_func", Kind::kLinear},
                         {"bitsandbytes::int8_linear_matmul", Kind::kLinear},
                         {"fbgemm::f8f8bf16_rowwise", Kind::kLinear},
                         {"fbgemm::f8f8bf16_tensorwise", Kind::kLinear},
                         {"fbgemm::f8f8bf16_blockwise", Kind::kLinear},
                         {"fbgemm::f8f8bf16_cublas", Kind::kLinear},
                         {"aten::_weight_int4pack_mm", Kind::kTinyGemm}};

constexpr std::string_view kUntold = "the recorded inputs do not tell m, n and k";

constexpr std::string_view kTemplate = "triton_tem_fused_";

const Row* find_row(std::string_view name) {
  const Row* const found = std::ranges::find(kRows, name, &Row::name);
  return found == std::end(kRows) ? nullptr : found;
}

bool is_real(std::string_view type) {
  return type == "float" || type.starts_with("c10::");
}

std::int64_t rows_of(const Extents& x) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    rows = extent_product({rows, x[i]});
  }
  return rows;
}

/// A linear layer, of which an element of x has `packed` of K, and one of W `packed_weight`.
void read_linear(const TorchCall& call, const Row& row, std::int64_t packed,
                 std::int64_t packed_weight, RecordedLaunch& launch) {
  const Extents& x = call.input(row.first);
  const Extents& w = call.input(row.first + 1);
  if (x.empty() || w.size() != 2) {
    return;
  }
  const std::int64_t k = extent_product({x.back(), packed});
  if (k == extent_product({w[1], packed_weight})) {
    launch.op.shape = {w[0], rows_of(x), k};
  }
}

/// The weight of a quantised layer of `n` columns, as the words that hold `bits` say, and the
/// first later input [groups, n] has its scales.
void read_quantised(const TorchCall& call, std::size_t words, std::int64_t n, std::int64_t bits,
                    RecordedLaunch& launch) {
  const Extents& x = call.input(0);
  if (x.size() != 2 || x[1] < 1 || (bits != 4 && bits != 8)) {
    return;
  }
  std::int64_t groups = 1;
  for (std::size_t i = words + 1; i < call.dims.size(); ++i) {
    if (call.dims[i].size() == 2 && call.dims[i][1] == n && call.dims[i][0] > 0) {
      groups = call.dims[i][0];
      break;
    }
  }
  const std::int64_t block = base::ceil_div(x[1], groups);
  launch.op.shape = {n, x[0], x[1]};
  launch.op.storage.weight = bits == 4 ? numerics::DataType::kS4 : numerics::DataType::kS8;
  launch.op.storage.scale_block =
      groups > 1 && block <= kMostInScaleBlock ? static_cast<int>(block) : 0;
}

/// The first later input of Marlin's words whose rows are K: an addend may stand before it.
void read_marlin(const TorchCall& call, std::int64_t rows_per_word, RecordedLaunch& launch) {
  const Extents& x = call.input(0);
  for (std::size_t i = 1; x.size() == 2 && i < call.dims.size(); ++i) {
    const Extents& words = call.dims[i];
    if (type_of(call, i) != "int" || words.size() != 2 || words[1] > kMaxExtent ||
        extent_product({words[0], rows_per_word}) != x[1]) {
      continue;
    }
    for (std::size_t j = i + 1; j < call.dims.size(); ++j) {  // scales say n
      const Extents& scales = call.dims[j];
      if (is_real(type_of(call, j)) && scales.size() == 2 && scales[1] > 0 &&
          words[1] * 2 % scales[1] == 0) {
        read_quantised(call, i, scales[1], words[1] * 2 / scales[1], launch);
        return;
      }
    }
  }
}

/// Whether `call` tells of a product of its inputs `first` and the next one, of which the second is
/// stored as [n, k] where `turned`: another input has the extents of that product.
bool read_product(const TorchCall& call, std::size_t first, bool turned, RecordedLaunch& launch) {
  const Extents& a = call.input(first);
  const Extents& b = call.input(first + 1);
  const std::size_t rank = a.size();
  if (rank < 2 || rank > 3 || b.size() != rank || (rank == 3 && (a[0] != b[0] || a[0] < 1)) ||
      b[turned ? rank - 1 : rank - 2] != a[rank - 1]) {
    return false;
  }
  const std::int64_t n = b[turned ? rank - 2 : rank - 1];
  Extents product = a;
  product[rank - 1] = n;
  bool told = false, bias = false;
  for (std::size_t i = 0; i < call.dims.size(); ++i) {
    if (i != first && i != first + 1) {
      told = told || call.dims[i] == product;
      bias = bias || call.dims[i] == Extents{n};
    }
  }
  if (!told) {
    return false;
  }
  launch.op.shape = {n, a[rank - 2], a[rank - 1]};
  launch.op.batch = rank == 3 ? a[0] : 1;
  launch.weight = rank == 2 && (turned || bias);
  return true;
}

/// A template of Inductor: two of its tensors are the operands, the first two or, behind a bias,
/// the next two, and a later one is their product. A square second operand reads both ways: that
/// of a matrix is taken for a weight, as linear layers have them.
void read_template(const TorchCall& call, RecordedLaunch& launch) {
  for (const std::size_t first : {0U, 1U}) {
    const bool matrix = call.input(first).size() == 2;
    if (read_product(call, first, matrix, launch) || read_product(call, first, !matrix, launch)) {
      return;
    }
  }
}

void read_row(const TorchCall& call, const Row& row, RecordedLaunch& launch) {
  const Extents& x = call.input(row.first);
  const Extents& second = call.input(row.first + 1);
  const bool matrices = x.size() == 2 && second.size() == 2;
  constexpr int kBlockOfFourBits = 16;
  launch.weight = true;
  switch (row.kind) {
    case Kind::kLinear:
      read_linear(call, row, 1, 1, launch);
      break;
    case Kind::kFourBits:
      read_linear(call, row, 2, 2, launch);
      launch.dtype = "e2m1";
      launch.op.storage.scale_block = kBlockOfFourBits;
      break;
    case Kind::kSparse:
      read_linear(call, row, 1, 2, launch);
      launch.op.recorded.sparse = true;
      break;
    case Kind::kMarlin:
      read_marlin(call, 16, launch);
      break;
    case Kind::kMarlin24:
      read_marlin(call, 32, launch);
      launch.op.recorded.sparse = true;
      break;
    case Kind::kAwq:
      if (matrices && x[1] == second[0]) {
        read_quantised(call, 1, extent_product({second[1], 8}), 4, launch);
      }
      break;
    case Kind::kMachete:
      for (const std::int64_t bits : {4, 8}) {
        if (matrices && extent_product({second[0], 32 / bits}) == x[1]) {
          read_quantised(call, 1, second[1], bits, launch);
        }
      }
      break;
    case Kind::kTinyGemm:
      if (x.size() == 2 && second.size() == 4) {
        read_quantised(call, 1, extent_product({second[0], 8}), 4, launch);
        const auto group = call.values.size() > 2 ? integers_of(call.values[2]) : std::nullopt;
        const bool said = group && group->front() > 0 && group->front() <= kMostInScaleBlock;
        launch.op.storage.scale_block = said ? static_cast<int>(group->front()) : 0;
      }
      break;
  }
}

}  // namespace

std::string_view type_of(const TorchCall& call, std::size_t index) {
  std::string_view type = index < call.types.size() ? call.types[index] : std::string_view();
  constexpr std::string_view kTensor = "Tensor(";
  if (type.starts_with(kTensor) && type.ends_with(")")) {
    type = type.substr(kTensor.size(), type.size() - kTensor.size() - 1);
  }
  return type;
}

bool is_library_product(std::string_view name) {
  return find_row(name) != nullptr || name.starts_with(kTemplate);
}

bool is_fused_experts(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "vllm::inplace_fused_experts", "vllm::outplace_fused_experts",
      "sglang::inplace_fused_experts", "sglang::outplace_fused_experts"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// (x [tokens, h], w1 [experts, 2 i, h], w2 [experts, h, i], weights [tokens, chosen], ..).
std::vector<RecordedLaunch> read_fused_experts(const TorchCall& call) {
  const Extents& x = call.input(0);
  const Extents& up = call.input(1);
  const Extents& down = call.input(2);
  const Extents& chosen = call.input(3);
  RecordedLaunch launch;
  launch.op.name = call.name;
  launch.dtype = our_type(type_of(call, 1));
  const bool fits = x.size() == 2 && up.size() == 3 && down.size() == 3 && chosen.size() == 2 &&
                    up[2] == x[1] && down[1] == x[1] && up[0] == down[0] && chosen[0] == x[0];
  const std::int64_t pairs = fits ? extent_product({x[0], chosen[1]}) : 0;
  if (pairs < 1 || up[0] < 1) {
    launch.reason = call.dims.empty() ? kNotRecorded : kUntold;
    return {launch};
  }
  launch.weight = true;
  launch.op.batch = std::min(up[0], pairs);
  const std::int64_t tokens = base::ceil_div(pairs, launch.op.batch);
  std::vector<RecordedLaunch> launches(2, launch);
  launches[0].op.name += ", up";
  launches[0].op.shape = {up[1], tokens, up[2]};
  launches[1].op.name += ", down";
  launches[1].op.shape = {down[1], tokens, down[2]};
  return launches;
}

std::size_t first_of_library_product(std::string_view name) {
  const Row* const row = find_row(name);
  return row == nullptr ? 0 : row->first;
}

void read_library_product(const TorchCall& call, RecordedLaunch& launch) {
  if (const Row* const row = find_row(call.name)) {
    read_row(call, *row, launch);
  } else {
    read_template(call, launch);
  }
  const base::GemmShape& shape = launch.op.shape;
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) {
    launch.op.shape = {};
    launch.op.storage = {};
    launch.reason = call.dims.empty() ? kNotRecorded : kUntold;
  }
}

}  // namespace sptc::workload::profile
