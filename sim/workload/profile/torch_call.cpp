// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/torch_call.h"

#include "models/base/error.h"
#include "models/sparsity/pattern.h"
#include "sim/io/text_file.h"
#include "sim/workload/profile/torch_products.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace sptc::workload::profile {
namespace {

using Extents = std::vector<std::int64_t>;

enum class Kind {
  kMm,
  kAddmm,
  kScaledMm,
  kBmm,
  kConvolution,
  kSparse,
  kAttention,
  kBackward,
  kTransposed,
  kGrouped,
  kTransformerEngine
};

struct Leaf {
  std::string_view name;
  Kind kind;
  std::size_t first = 0;            ///< input that is the first operand
  std::size_t pad = 0, stride = 0;  ///< of a convolution: which inputs they are
};

// vLLM has (out, a, b, ..).
constexpr Leaf kLeaves[] = {{"aten::mm", Kind::kMm},
                            {"aten::_int_mm", Kind::kMm},
                            {"aten::addmm", Kind::kAddmm, 1},
                            {"aten::_addmm_activation", Kind::kAddmm, 1},
                            {"aten::_scaled_mm", Kind::kScaledMm},
                            {"aten::bmm", Kind::kBmm},
                            {"aten::baddbmm", Kind::kBmm, 1},
                            {"aten::cudnn_convolution", Kind::kConvolution, 0, 2, 3},
                            {"aten::cudnn_convolution_relu", Kind::kConvolution, 0, 4, 3},
                            {"aten::miopen_convolution", Kind::kConvolution, 0, 3, 4},
                            {"aten::mkldnn_convolution", Kind::kConvolution, 0, 3, 4},
                            {"aten::_cslt_sparse_mm", Kind::kSparse},
                            {"aten::_sparse_semi_structured_linear", Kind::kSparse},
                            {"aten::_sparse_semi_structured_mm", Kind::kSparse},
                            {"aten::_sparse_semi_structured_addmm", Kind::kSparse, 1},
                            {"aten::_flash_attention_forward", Kind::kAttention},
                            {"aten::_flash_attention_backward", Kind::kAttention},
                            {"aten::_efficient_attention_forward", Kind::kAttention},
                            {"aten::_efficient_attention_backward", Kind::kAttention},
                            {"aten::_scaled_dot_product_flash_attention_for_cpu", Kind::kAttention},
                            {"aten::_cudnn_attention_forward", Kind::kAttention},
                            {"aten::_cudnn_attention_backward", Kind::kAttention},
                            {"aten::convolution_backward", Kind::kBackward},
                            {"aten::cudnn_convolution_backward", Kind::kBackward},
                            {"aten::cudnn_convolution_transpose", Kind::kTransposed},
                            {"aten::_grouped_mm", Kind::kGrouped},
                            {"aten::_scaled_grouped_mm", Kind::kGrouped},
                            {"aten::_scaled_grouped_mm_v2", Kind::kGrouped},
                            {"aten::_scaled_mm_v2", Kind::kScaledMm},
                            {"_C::cutlass_scaled_mm", Kind::kScaledMm, 1},
                            {"_C::cutlass_scaled_mm_azp", Kind::kScaledMm, 1},
                            {"trtllm::cublas_mm", Kind::kMm},
                            {"trtllm::cublas_scaled_mm", Kind::kScaledMm},
                            {"sgl_kernel::bmm_fp8", Kind::kBmm},
                            {"sgl_kernel::fp8_blockwise_scaled_mm", Kind::kScaledMm},
                            {"sgl_kernel::fp8_scaled_mm", Kind::kScaledMm},
                            {"sgl_kernel::int8_scaled_mm", Kind::kScaledMm},
                            {"tex_ts::te_gemm_ts", Kind::kTransformerEngine},
                            {"aten::_thnn_fused_lstm_cell", Kind::kAttention},
                            {"aten::_cudnn_rnn", Kind::kAttention}};

constexpr std::string_view kUndecidedF32 =
    "f32, and no kernel says whether it runs as TF32 (--tf32 says so)";

const Leaf* find_leaf(std::string_view name) {
  const Leaf* const found = std::ranges::find(kLeaves, name, &Leaf::name);
  return found == std::end(kLeaves) ? nullptr : found;
}

/// Of experts.
bool shares_tokens(std::string_view name) {
  const Leaf* const leaf = find_leaf(name);
  return is_fused_experts(name.substr(0, name.find(','))) ||
         (leaf != nullptr && leaf->kind == Kind::kGrouped);
}

/// Whether the last two extents are stored column by column: the transpose of what is in memory.
bool is_transposed(const TorchCall& call, std::size_t index) {
  static const Extents kNone;
  const Extents& strides = index < call.strides.size() ? call.strides[index] : kNone;
  return strides.size() >= 2 && strides[strides.size() - 2] == 1 && strides.back() > 1;
}

std::string shown(const Extents& extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

/// Throws InputError where operands `a` and `b` do not fit, or no GEMM has their extents.
void require_fit(const TorchCall& call, const std::string& place, const Extents& a,
                 const Extents& b, bool fit) {
  if (!fit) {
    throw base::InputError(fmt::format("{}: {} has operands {} and {}, which do not fit", place,
                                       io::printable(call.name), shown(a), shown(b)));
  }
  for (const Extents* extents : {&a, &b}) {
    for (const std::int64_t extent : *extents) {
      if (extent < 0 || extent > kMaxExtent) {
        throw base::InputError(fmt::format("{}: {} has an operand of {}, beyond 0 to {}", place,
                                           io::printable(call.name), extent, kMaxExtent));
      }
    }
  }
}

/// Of a scaled product whose scales have blocks along K: as their type says, nvfp4 or mxfp8. Two
/// elements of four bits share a byte, which is what extents count.
void read_block_scales(const TorchCall& call, const Leaf& leaf, RecordedLaunch& launch) {
  const std::size_t scales = leaf.first + 2;
  const std::string type = scales < call.types.size() ? call.types[scales] : "";
  if (launch.dtype == "e2m1") {
    launch.op.shape.k = extent_product({launch.op.shape.k, 2});
    launch.op.storage.scale_block = 16;
    if (type != "c10::Float8_e4m3fn" && launch.reason.empty()) {
      launch.reason = "e2m1 of other scales than those of nvfp4";
    }
  } else if (type == "c10::Float8_e8m0fnu") {
    launch.op.storage.scale_block = 32;
  }
}

void read_product(const TorchCall& call, const Leaf& leaf, const std::string& place,
                  RecordedLaunch& launch) {
  const Extents& a = call.input(leaf.first);
  const Extents& b = call.input(leaf.first + 1);
  const std::size_t rank = leaf.kind == Kind::kBmm ? 3 : 2;
  if (a.size() != rank || b.size() != rank) {
    launch.reason = call.dims.empty() ? kNotRecorded : "no shapes of two matrices";
    return;
  }
  const std::int64_t batch = rank == 3 ? a[0] : 1;
  require_fit(call, place, a, b, a[rank - 1] == b[rank - 2] && (rank == 2 || b[0] == batch));
  launch.op.shape = {b[rank - 1], a[rank - 2], a[rank - 1]};
  launch.op.batch = std::max<std::int64_t>(batch, 1);
  if (batch == 0 || launch.op.shape.m == 0 || launch.op.shape.n == 0 || launch.op.shape.k == 0) {
    launch.reason = "an operand is empty";
  }
  switch (leaf.kind) {
    case Kind::kMm:
      launch.weight = is_transposed(call, leaf.first + 1) && !is_transposed(call, leaf.first);
      break;
    case Kind::kAddmm:
      launch.weight = call.input(0).size() == 1;
      break;
    case Kind::kScaledMm:
      launch.weight = true;
      read_block_scales(call, leaf, launch);
      break;
    default:
      break;
  }
}

/// GEMMs of experts in one kernel. Where an operand has three axes, the first counts experts, and
/// they share the tokens of the other; of two matrices they share K. As far as the recording says,
/// all get as many.
void read_grouped(const TorchCall& call, const Leaf& leaf, const std::string& place,
                  RecordedLaunch& launch) {
  const Extents& a = call.input(0);
  const Extents& b = call.input(1);
  const std::size_t ends = call.name == "aten::_grouped_mm"          ? 2
                           : call.name == "aten::_scaled_grouped_mm" ? 4
                                                                     : 8;  // where groups end
  const Extents& groups = call.input(ends);
  const std::size_t rank_a = a.size(), rank_b = b.size();
  const bool matrices = rank_a == 2 && rank_b == 2;
  if (rank_a < 2 || rank_a > 3 || rank_b < 2 || rank_b > 3 || (matrices && groups.size() != 1)) {
    launch.reason = call.dims.empty() ? kNotRecorded : "no shapes of the GEMMs of experts";
    return;
  }
  require_fit(call, place, a, b,
              a[rank_a - 1] == b[rank_b - 2] && (rank_a + rank_b < 6 || a[0] == b[0]));
  const std::int64_t experts = matrices ? groups[0] : rank_a == 3 ? a[0] : b[0];
  base::GemmShape shape{b[rank_b - 1], a[rank_a - 2], a[rank_a - 1]};
  std::int64_t* const shared = matrices      ? &shape.k
                               : rank_b == 2 ? &shape.m
                               : rank_a == 2 ? &shape.n
                                             : nullptr;
  if (experts < 1 || shape.m == 0 || shape.n == 0 || shape.k == 0) {
    launch.reason = "an operand is empty";
    return;
  }
  launch.op.batch = experts;
  if (shared != nullptr) {
    launch.op.batch = std::min(experts, *shared);
    *shared = (*shared + launch.op.batch - 1) / launch.op.batch;
  }
  if (shared == &shape.m) {  // the experts' matrices are the first operand
    std::swap(shape.m, shape.n);
  }
  launch.op.shape = shape;
  launch.weight = shared == &shape.m || shared == &shape.n;
  read_block_scales(call, leaf, launch);
}

/// Transformer Engine: (A, scale, which, type of A, transpose A, B, scale, which, type of B,
/// transpose B, ..) as cuBLAS has them, so that A is the weight.
void read_transformer_engine(const TorchCall& call, const std::string& place,
                             RecordedLaunch& launch) {
  constexpr std::size_t kTypeOfA = 3, kTransposeA = 4, kB = 5, kTransposeB = 9;
  static constexpr std::string_view kTypes[] = {"u8",  "s32",  "s64",  "f32",
                                                "f16", "bf16", "e4m3", "e5m2"};
  const Extents& a = call.input(0);
  const Extents& b = call.input(kB);
  if (a.size() != 2 || b.size() != 2 || call.values.size() <= kTransposeB) {
    launch.reason = call.dims.empty() ? kNotRecorded : "no shapes of two matrices";
    return;
  }
  const auto is_true = [&](std::size_t index) {
    return call.values[index] == "True" || call.values[index] == "true" ||
           call.values[index] == "1";
  };
  const bool turn_a = is_true(kTransposeA), turn_b = is_true(kTransposeB);
  const auto type = integers_of(call.values[kTypeOfA]);
  if (type && type->front() >= 0 && type->front() < std::ssize(kTypes)) {
    launch.dtype = kTypes[type->front()];
  }
  launch.op.shape = {turn_a ? a[0] : a[1], turn_b ? b[1] : b[0], turn_a ? a[1] : a[0]};
  launch.weight = turn_a && !turn_b;  // else a gradient
  if (launch.op.shape.k != (turn_b ? b[0] : b[1])) {
    throw base::InputError(fmt::format("{}: {} has operands {} and {}, which do not fit", place,
                                       io::printable(call.name), shown(a), shown(b)));
  }
  if (launch.op.shape.m == 0 || launch.op.shape.n == 0 || launch.op.shape.k == 0) {
    launch.reason = "an operand is empty";
  }
}

/// Elements of the dense matrix that cuSPARSELt compressed into `elements` of `dtype`, values and
/// metadata; 0 where tensor cores have no sparse products of that type.
std::int64_t uncompressed(std::int64_t elements, std::string_view dtype) {
  const auto type = parse_operand_type(dtype == "f32" ? "tf32" : dtype);
  if (!type) {
    return 0;
  }
  const sparsity::Pattern pattern = sparsity::hardware_pattern(*type);
  const int bits = dtype == "f32" ? 32 : numerics::storage_bits(*type);
  return elements * pattern.group * bits / (pattern.kept * bits + pattern.metadata_bits());
}

/// _cslt_sparse_mm(compressed A, dense B). The others are CUTLASS's and keep values and metadata
/// apart.
void read_sparse(const TorchCall& call, const Leaf& leaf, RecordedLaunch& launch) {
  launch.weight = launch.op.recorded.sparse = true;
  const Extents& a = call.input(leaf.first);
  const bool cslt = call.name == "aten::_cslt_sparse_mm";
  const Extents& b = call.input(leaf.first + (cslt ? 1 : 2));
  if (b.size() != 2 || a.empty()) {
    launch.reason = "no shapes of two matrices";
    return;
  }
  if (cslt) {
    const std::int64_t elements = extent_product({a[0], a.size() > 1 ? a[1] : 1});
    const std::int64_t dense = uncompressed(elements, launch.dtype);
    launch.op.shape = {dense / std::max<std::int64_t>(b[0], 1), b[1], b[0]};
  } else if (leaf.name.ends_with("linear")) {  // (input, packed weight, metadata)
    const Extents& w = call.input(1);
    const std::int64_t k = a.back();
    std::int64_t tokens = 1;
    for (std::size_t i = 0; i + 1 < a.size(); ++i) {
      tokens = extent_product({tokens, a[i]});
    }
    launch.op.shape = {w.empty() ? 0 : w[0], tokens, k};
  } else {
    launch.op.shape = {a[0], b[1], b[0]};
  }
  if (launch.op.shape.m < 1 || launch.op.shape.n < 1 || launch.op.shape.k < 1) {
    launch.op.shape = {};
    launch.reason = "the shapes of this sparse operation give no GEMM";
  }
}

RecordedLaunch launch_of(const TorchCall& call, const std::string& place) {
  RecordedLaunch launch;
  launch.op.name = call.name;
  const Leaf* leaf = find_leaf(call.name);
  const std::size_t first = leaf != nullptr ? leaf->first : first_of_library_product(call.name);
  launch.dtype = first < call.types.size() ? our_type(type_of(call, first)) : "";
  if (leaf == nullptr) {
    base::ensure(is_library_product(call.name), "launches_of() of an operation that is no GEMM");
    read_library_product(call, launch);
    return launch;
  }
  switch (leaf->kind) {
    case Kind::kConvolution:
      read_convolution(call, leaf->pad, leaf->stride, launch);
      break;
    case Kind::kSparse:
      read_sparse(call, *leaf, launch);
      break;
    case Kind::kAttention:
      launch.reason = "fused attention or recurrence: its GEMMs are inside another kernel";
      break;
    case Kind::kBackward:
      launch.reason = "backward convolution";
      break;
    case Kind::kTransformerEngine:
      read_transformer_engine(call, place, launch);
      break;
    case Kind::kTransposed:
      launch.reason = "transposed convolution";
      break;
    case Kind::kGrouped:
      read_grouped(call, *leaf, place, launch);
      break;
    default:
      read_product(call, *leaf, place, launch);
  }
  return launch;
}

}  // namespace

const Extents& TorchCall::input(std::size_t index) const {
  static const Extents kNone;
  return index < dims.size() ? dims[index] : kNone;
}

std::string TorchCall::signature() const {
  return fmt::format("{} {} {} {} {}", name, dims, strides, types, values);
}

std::string our_type(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"c10::Float4_e2m1fn_x2", "e2m1"},
      {"c10::BFloat16", "bf16"},
      {"c10::Half", "f16"},
      {"float", "f32"},
      {"double", "f64"},
      {"signed char", "s8"},
      {"c10::Float8_e4m3fn", "e4m3"},
      {"c10::Float8_e5m2", "e5m2"},
      {"c10::Float8_e4m3fnuz", "e4m3"},
      {"c10::Float8_e5m2fnuz", "e5m2"},
      {"", "?"}};
  for (const auto& [torch, ours] : kTypes) {
    if (torch == word) {
      return std::string(ours);
    }
  }
  return std::string(word);
}

bool is_leaf_gemm(std::string_view name) {
  return find_leaf(name) != nullptr || is_library_product(name) || is_fused_experts(name);
}

std::vector<RecordedLaunch> launches_of(const TorchCall& call, const std::string& place) {
  if (is_fused_experts(call.name)) {
    return read_fused_experts(call);
  }
  return {launch_of(call, place)};
}

std::vector<std::string> grounds_of(const std::vector<Operation>& operations) {
  std::vector<std::string> grounds{
      "A is taken for a weight in addmm with a bias, _scaled_mm, sparse operations, products of "
      "libraries and convolutions, and in mm where its second operand is stored as [out, in]; "
      "PyTorch's M is n "
      "here, its N is m"};
  if (std::any_of(operations.begin(), operations.end(),
                  [](const Operation& op) { return shares_tokens(op.name); })) {
    grounds.emplace_back(
        "how many tokens each expert of a grouped GEMM gets is not recorded: all are taken to get "
        "as many, and their matrices are taken for weights");
  }
  return grounds;
}

void apply_no_kernel(const TorchCall& call, bool tf32, RecordedLaunch& launch) {
  constexpr std::size_t kAllowTf32 = 8;  // the last input of aten::cudnn_convolution
  const bool allowed = call.name == "aten::cudnn_convolution" && call.values.size() > kAllowTf32 &&
                       call.values[kAllowTf32] == "true";
  if (launch.dtype == "f32" && launch.reason.empty()) {
    if (tf32 || allowed) {
      launch.dtype = "tf32";
    } else {
      launch.reason = kUndecidedF32;
    }
  }
}

void apply_kernel(const KernelName* kernel, std::string_view name, RecordedLaunch& launch) {
  launch.op.recorded.kernel = name;
  if (kernel != nullptr) {
    launch.op.recorded.d_dtype = kernel->d_type;
    launch.op.recorded.sparse = launch.op.recorded.sparse || kernel->sparse;
  }
  if (launch.dtype.empty() && kernel != nullptr) {  // nsys says no types
    launch.dtype = kernel->a_type;
  }
  if (!launch.reason.empty()) {
    return;
  }
  const bool tf32 = kernel != nullptr && kernel->a_type == "tf32";
  if (kernel != nullptr && kernel->unit == KernelName::Unit::kGemv) {
    launch.reason = "runs as gemv, not on tensor cores";
  } else if (kernel != nullptr && kernel->unit == KernelName::Unit::kSimt) {
    launch.reason = launch.dtype + " on SIMT units, not on tensor cores";
  } else if (launch.dtype == "f32" && tf32) {
    launch.dtype = "tf32";
  } else if (launch.dtype == "f32") {
    launch.reason = name.empty() ? std::string(kUndecidedF32)
                                 : "f32, and the kernel's name does not say that it runs as TF32";
  }
}

}  // namespace sptc::workload::profile
