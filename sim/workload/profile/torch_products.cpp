// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/pattern.h"
#include "sim/io/text_file.h"
#include "sim/workload/profile/torch_call.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <ranges>

namespace sptc::workload::profile {
namespace {

using Extents = std::vector<std::int64_t>;

constexpr std::string_view kNotRecorded = "no shapes: record with record_shapes=True";

/// Whether the last two extents of an input are stored column by column.
bool is_transposed(const TorchCall& call, std::size_t index) {
  static const Extents kNone;
  const Extents& strides = index < call.strides.size() ? call.strides[index] : kNone;
  return strides.size() >= 2 && strides[strides.size() - 2] == 1 && strides.back() > 1;
}

std::string shown(const Extents& extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

/// Throws InputError where operands `a` and `b` do not fit, or no GEMM has their extents.
void require_fit(const Reading& of, const Extents& a, const Extents& b, bool fit) {
  const std::string what = fmt::format("{}: {} has ", of.place, io::printable(of.call.name));
  if (!fit) {
    io::refuse("{}operands {} and {}, which do not fit", what, shown(a), shown(b));
  }
  for (const Extents* extents : {&a, &b}) {
    for (const std::int64_t extent : *extents) {
      if (extent < 0 || extent > kMaxExtent) {
        io::refuse("{}an operand of {}, beyond 0 to {}", what, extent, kMaxExtent);
      }
    }
  }
}

/// Whether `batch` products of this shape have elements; a reason says where they have none.
bool has_elements(const base::GemmShape& shape, std::int64_t batch, RecordedLaunch& launch) {
  const bool has = batch > 0 && shape.m != 0 && shape.n != 0 && shape.k != 0;
  if (!has) {
    launch.reason = "an operand is empty";
  }
  return has;
}

/// Reads a scaled product whose scales have blocks along K: as their type says, nvfp4 or mxfp8. Two
/// elements of four bits share a byte, which is what extents count.
void read_block_scales(Reading& of) {
  RecordedLaunch& launch = of.launch;
  const std::string_view type = of.call.type(of.product.first + 2);
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

/// Two matrices or, of `rank` 3, as many of each; false where the call has none.
bool read_matrices(Reading& of, std::size_t rank) {
  const Extents& a = of.operand(0);
  const Extents& b = of.operand(1);
  if (a.size() != rank || b.size() != rank) {
    of.refuse("no shapes of two matrices");
    return false;
  }
  const std::int64_t batch = rank == 3 ? a[0] : 1;
  require_fit(of, a, b, a[rank - 1] == b[rank - 2] && (rank == 2 || b[0] == batch));
  of.launch.op.shape = {b[rank - 1], a[rank - 2], a[rank - 1]};
  of.launch.op.batch = std::max<std::int64_t>(batch, 1);
  has_elements(of.launch.op.shape, batch, of.launch);
  return true;
}

void read_mm(Reading& of) {
  if (read_matrices(of, 2)) {
    const std::size_t first = of.product.first;
    of.launch.weight = is_transposed(of.call, first + 1) && !is_transposed(of.call, first);
  }
}

void read_addmm(Reading& of) {
  if (read_matrices(of, 2)) {
    of.launch.weight = of.call.input(0).size() == 1;
  }
}

void read_scaled_mm(Reading& of) {
  if (read_matrices(of, 2)) {
    of.launch.weight = true;
    read_block_scales(of);
  }
}

void read_bmm(Reading& of) {
  read_matrices(of, 3);
}

/// Transformer Engine: (A, scale, which, type of A, transpose A, B, scale, which, type of B,
/// transpose B, ..) as cuBLAS has them, so that A is the weight.
void read_transformer_engine(Reading& of) {
  constexpr std::size_t kTypeOfA = 3, kTransposeA = 4, kB = 5, kTransposeB = 9;
  static constexpr std::string_view kTypes[] = {"u8", "s32", "s64", "f32", "f16", "bf16", "e4m3", "e5m2"};
  const Extents& a = of.call.input(0);
  const Extents& b = of.call.input(kB);
  const std::vector<std::string>& values = of.call.values;
  if (a.size() != 2 || b.size() != 2 || values.size() <= kTransposeB) {
    of.refuse("no shapes of two matrices");
    return;
  }
  const auto is_true = [](const std::string& value) { return value == "True" || value == "true" || value == "1"; };
  const bool turn_a = is_true(values[kTransposeA]), turn_b = is_true(values[kTransposeB]);
  const auto type = integers_of(values[kTypeOfA]);
  if (type && type->front() >= 0 && type->front() < std::ssize(kTypes)) {
    of.launch.dtype = kTypes[type->front()];
  }
  base::GemmShape& shape = of.launch.op.shape;
  shape = {turn_a ? a[0] : a[1], turn_b ? b[1] : b[0], turn_a ? a[1] : a[0]};
  of.launch.weight = turn_a && !turn_b;  // else a gradient
  require_fit(of, a, b, shape.k == (turn_b ? b[0] : b[1]));
  has_elements(shape, 1, of.launch);
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

/// _cslt_sparse_mm(compressed A, dense B); CUTLASS's keep values and metadata apart.
void read_sparse(Reading& of) {
  RecordedLaunch& launch = of.launch;
  launch.weight = launch.op.recorded.sparse = true;
  const Extents& a = of.operand(0);
  const bool cslt = of.call.name == "aten::_cslt_sparse_mm";
  const Extents& b = of.operand(cslt ? 1 : 2);
  if (b.size() != 2 || a.empty()) {
    launch.reason = "no shapes of two matrices";
    return;
  }
  base::GemmShape& shape = launch.op.shape;
  if (cslt) {
    const std::int64_t elements = extent_product({a[0], a.size() > 1 ? a[1] : 1});
    const std::int64_t dense = uncompressed(elements, launch.dtype);
    shape = {dense / std::max<std::int64_t>(b[0], 1), b[1], b[0]};
  } else if (of.call.name.ends_with("linear")) {  // (input, packed weight, metadata)
    const Extents& w = of.call.input(1);
    shape = {w.empty() ? 0 : w[0], rows_of(a), a.back()};
  } else {
    shape = {a[0], b[1], b[0]};
  }
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) {
    shape = {};
    launch.reason = "the shapes of this sparse operation give no GEMM";
  }
}

/// One extent for all axes means the same for each.
std::optional<Extents> per_axis(const TorchCall& call, std::size_t index, std::size_t axes) {
  auto values = index < call.values.size() ? integers_of(call.values[index]) : std::nullopt;
  if (values && values->size() == 1) {
    values->resize(axes, values->front());
  }
  return values && values->size() == axes ? values : std::nullopt;
}

/// Reads a convolution of x and w; padding and stride are where the product says, dilation and
/// groups follow them.
void read_convolution(Reading& of) {
  const TorchCall& call = of.call;
  RecordedLaunch& launch = of.launch;
  const Extents& x = call.input(0);
  const Extents& w = call.input(1);
  launch.weight = true;
  if (x.size() < 3 || x.size() > 5 || x.size() != w.size()) {
    of.refuse("no shapes of a convolution");
    return;
  }
  const std::size_t axes = x.size() - 2;
  const std::size_t after = std::max(of.product.pad, of.product.stride) + 1;
  const auto pad = per_axis(call, of.product.pad, axes);
  const auto stride = per_axis(call, of.product.stride, axes);
  const auto dilation = per_axis(call, after, axes);
  const auto groups = per_axis(call, after + 1, 1);
  if (!pad || !stride || !dilation || !groups) {
    launch.reason = "stride and padding of this convolution are not recorded";
    return;
  }
  ConvGeometry conv{.n = x[0], .c = x[1], .k = w[0], .groups = groups->front()};
  const auto axis = [&](std::size_t i, std::int64_t& extent, std::int64_t& filter, std::size_t to) {
    extent = x[2 + i];
    filter = w[2 + i];
    conv.pad[to] = (*pad)[i];
    conv.stride[to] = (*stride)[i];
    conv.dilation[to] = (*dilation)[i];
  };
  if (axes == 1) {
    conv.h = conv.r = 1;
  } else {
    axis(axes - 2, conv.h, conv.r, 0);
  }
  axis(axes - 1, conv.w, conv.s, 1);
  bool fits = lower_convolution(conv, launch.op);
  if (fits && axes == 3) {  // one more axis: as a GEMM without geometry
    Operation depth;
    ConvGeometry line;
    line.n = line.c = line.k = line.w = line.s = 1;
    axis(0, line.h, line.r, 0);
    std::swap(conv.pad, line.pad);
    std::swap(conv.stride, line.stride);
    std::swap(conv.dilation, line.dilation);
    line.pad[1] = 0;
    line.stride[1] = line.dilation[1] = 1;
    fits = lower_convolution(line, depth);
    launch.op.shape.n = extent_product({launch.op.shape.n, depth.shape.n});
    launch.op.shape.k = extent_product({launch.op.shape.k, line.r});
    launch.op.conv.reset();
    fits = fits && launch.op.shape.n > 0 && launch.op.shape.k > 0;
  }
  if (!fits) {
    launch.op.shape = {};
    launch.op.batch = 1;
    launch.op.conv.reset();
    launch.reason = "the geometry of this convolution gives no GEMM";
  }
}

constexpr std::string_view kFused = "fused attention or recurrence: its GEMMs are inside another kernel";
constexpr std::string_view kBackward = "backward convolution";
constexpr std::string_view kTransposed = "transposed convolution";

// vLLM has (out, a, b, ..). Schemas of libraries: vllm-project/vllm csrc/torch_bindings.cpp,
// sgl-project/sglang sgl-kernel, NVIDIA/TensorRT-LLM cpp/tensorrt_llm/thop, pytorch/FBGEMM,
// bitsandbytes, pytorch/pytorch native_functions.yaml.
constexpr Product kProducts[] = {
    {"aten::mm aten::_int_mm trtllm::cublas_mm", read_mm},
    {"aten::addmm aten::_addmm_activation", read_addmm, 1},
    {"aten::_scaled_mm aten::_scaled_mm_v2 trtllm::cublas_scaled_mm sgl_kernel::fp8_blockwise_scaled_mm "
     "sgl_kernel::fp8_scaled_mm sgl_kernel::int8_scaled_mm",
     read_scaled_mm},
    {"aten::bmm sgl_kernel::bmm_fp8", read_bmm},
    {"aten::baddbmm", read_bmm, 1},
    {"aten::cudnn_convolution", read_convolution, 0, 2, 3},
    {"aten::cudnn_convolution_relu", read_convolution, 0, 4, 3},
    {"aten::miopen_convolution aten::mkldnn_convolution", read_convolution, 0, 3, 4},
    {"aten::_cslt_sparse_mm aten::_sparse_semi_structured_linear aten::_sparse_semi_structured_mm", read_sparse},
    {"aten::_sparse_semi_structured_addmm", read_sparse, 1},
    {"aten::_flash_attention_forward aten::_flash_attention_backward aten::_efficient_attention_forward "
     "aten::_efficient_attention_backward aten::_scaled_dot_product_flash_attention_for_cpu "
     "aten::_cudnn_attention_forward aten::_cudnn_attention_backward aten::_thnn_fused_lstm_cell aten::_cudnn_rnn",
     nullptr, 0, 0, 0, kFused},
    {"aten::convolution_backward aten::cudnn_convolution_backward", nullptr, 0, 0, 0, kBackward},
    {"aten::cudnn_convolution_transpose", nullptr, 0, 0, 0, kTransposed},
    {"aten::_grouped_mm aten::_scaled_grouped_mm aten::_scaled_grouped_mm_v2", read_grouped},
    {"_C::cutlass_scaled_mm _C::cutlass_scaled_mm_azp", read_scaled_mm, 1},
    {"tex_ts::te_gemm_ts", read_transformer_engine},
    {"_C::marlin_gemm _C::gptq_marlin_gemm sgl_kernel::gptq_marlin_gemm", read_marlin},
    {"_C::gptq_marlin_24_gemm", read_marlin_24},
    {"_C::awq_gemm", read_awq},
    {"_C::machete_mm", read_machete},
    {"_C::cutlass_scaled_sparse_mm", read_sparse_linear, 1},
    {"_C::cutlass_scaled_fp4_mm sgl_kernel::cutlass_scaled_fp4_mm", read_four_bits, 1},
    {"trtllm::fp4_gemm trtllm::nvfp4_gemm", read_four_bits},
    {"trtllm::fp8_block_scaling_gemm vllm::w8a8_triton_block_scaled_mm_func bitsandbytes::int8_linear_matmul "
     "fbgemm::f8f8bf16_rowwise fbgemm::f8f8bf16_tensorwise fbgemm::f8f8bf16_blockwise fbgemm::f8f8bf16_cublas",
     read_linear},
    {"aten::_weight_int4pack_mm", read_tiny_gemm},
    {"vllm::inplace_fused_experts vllm::outplace_fused_experts sglang::inplace_fused_experts "
     "sglang::outplace_fused_experts",
     read_fused_experts, 1}};

}  // namespace

const Extents& Reading::operand(std::size_t index) const {
  return call.input(product.first + index);
}

void Reading::refuse(std::string_view why) {
  launch.reason = call.dims.empty() ? kNotRecorded : why;
}

const Product* find_product(std::string_view name) {
  static constexpr Product kTemplate{"triton_tem_fused_", read_template};
  if (name.starts_with(kTemplate.names)) {
    return &kTemplate;
  }
  const Product* const found = std::ranges::find_if(kProducts, [name](const Product& row) {
    return std::ranges::any_of(std::views::split(row.names, ' '),
                               [name](const auto& one) { return std::string_view(one.begin(), one.end()) == name; });
  });
  return found == std::end(kProducts) ? nullptr : found;
}

std::int64_t rows_of(const Extents& x) {
  return extent_product(std::span(x).first(x.empty() ? 0 : x.size() - 1));
}

std::optional<std::vector<std::int64_t>> integers_of(std::string_view text) {
  Extents values;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    if ((*at >= '0' && *at <= '9') || *at == '-') {
      std::int64_t value = 0;
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc()) {
        return std::nullopt;
      }
      values.push_back(value);
      at = next;
    } else if (*at == '[' || *at == ']' || *at == ',' || *at == ' ') {
      ++at;
    } else {
      return std::nullopt;
    }
  }
  return values.empty() ? std::nullopt : std::optional(values);
}

void read_grouped(Reading& of) {
  RecordedLaunch& launch = of.launch;
  const Extents& a = of.call.input(0);
  const Extents& b = of.call.input(1);
  const std::size_t ends = of.call.name == "aten::_grouped_mm" ? 2 : of.call.name == "aten::_scaled_grouped_mm" ? 4 : 8;
  const Extents& groups = of.call.input(ends);  // where groups end
  const std::size_t rank_a = a.size(), rank_b = b.size();
  const bool matrices = rank_a == 2 && rank_b == 2;
  if (rank_a < 2 || rank_a > 3 || rank_b < 2 || rank_b > 3 || (matrices && groups.size() != 1)) {
    of.refuse("no shapes of the GEMMs of experts");
    return;
  }
  require_fit(of, a, b, a[rank_a - 1] == b[rank_b - 2] && (rank_a + rank_b < 6 || a[0] == b[0]));
  const std::int64_t experts = matrices ? groups[0] : rank_a == 3 ? a[0] : b[0];
  base::GemmShape shape{b[rank_b - 1], a[rank_a - 2], a[rank_a - 1]};
  std::int64_t* const shared = matrices ? &shape.k : rank_b == 2 ? &shape.m : rank_a == 2 ? &shape.n : nullptr;
  if (!has_elements(shape, experts, launch)) {
    return;
  }
  launch.op.batch = experts;
  if (shared != nullptr) {
    launch.op.batch = std::min(experts, *shared);
    *shared = base::ceil_div(*shared, launch.op.batch);
  }
  if (shared == &shape.m) {  // the experts' matrices are the first operand
    std::swap(shape.m, shape.n);
  }
  launch.op.shape = shape;
  launch.weight = shared == &shape.m || shared == &shape.n;
  read_block_scales(of);
}

}  // namespace sptc::workload::profile
