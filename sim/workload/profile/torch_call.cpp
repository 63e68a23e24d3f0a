// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/torch_call.h"

#include "models/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace sptc::workload::profile {
namespace {

using Unit = KernelName::Unit;
using NamedType = std::pair<std::string_view, std::string_view>;  ///< as others call it, and our name

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The type that libraries call `word`; empty where it is none.
std::string_view type_of(std::string_view word) {
  static constexpr NamedType kTypes[] = {{"f16", "f16"},   {"fp16", "f16"}, {"bf16", "bf16"}, {"tf32", "tf32"},
                                         {"f32", "f32"},   {"fp32", "f32"}, {"f64", "f64"},   {"s8", "s8"},
                                         {"i8", "s8"},     {"int8", "s8"},  {"f8", "e4m3"},   {"e4m3", "e4m3"},
                                         {"e5m2", "e5m2"}, {"s32", "s32"},  {"i32", "s32"},   {"u8", "u8"}};
  const auto* const found = std::ranges::find(kTypes, word, &NamedType::first);
  return found == std::end(kTypes) ? "" : found->second;
}

/// "bf16f32" as its two types.
std::optional<std::pair<std::string_view, std::string_view>> type_pair(std::string_view word) {
  for (std::size_t at = 2; at + 2 <= word.size(); ++at) {
    const auto first = type_of(word.substr(0, at));
    const auto second = type_of(word.substr(at));
    if (!first.empty() && !second.empty()) {
      return std::pair(first, second);
    }
  }
  return std::nullopt;
}

/// Reads "s16816spgemm", "h884gemm", "sgemm" or "s1688fprop"; false for another word. `untyped`
/// gets the type of operands of which no other word says one: s1688 multiplies f32 as tf32.
bool read_operation(std::string_view word, KernelName& kernel, std::string_view& untyped) {
  for (const std::string_view operation : {"spgemm", "gemm", "fprop", "dgrad", "wgrad", "cudnn"}) {
    if (!word.ends_with(operation)) {
      continue;
    }
    const std::string_view front = word.substr(0, word.size() - operation.size());
    const std::size_t digits = front.find_first_of("0123456789");
    const std::string_view letters = front.substr(0, digits);
    if (letters.size() > 2 || (letters.empty() && digits == std::string_view::npos)) {
      return false;  // "gemm" alone says nothing of the units
    }
    kernel.sparse = kernel.sparse || operation == "spgemm";
    const char accumulator = letters.empty() ? ' ' : letters.back();
    if (digits == std::string_view::npos) {
      kernel.unit = Unit::kSimt;
      kernel.a_type = kernel.d_type = accumulator == 's'   ? "f32"
                                      : accumulator == 'h' ? "f16"
                                      : accumulator == 'i' ? "s32"
                                      : accumulator == 'd' ? "f64"
                                                           : "";
    } else {
      const std::string_view shape = front.substr(digits);
      untyped = accumulator == 's' && (shape == "1688" || shape.ends_with("x8")) ? "tf32" : "f16";
    }
    return true;
  }
  return false;
}

/// cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8,
/// ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_nn, volta_sgemm_128x64_tn.
std::optional<KernelName> decode_tiled(std::string_view name) {
  KernelName kernel;
  std::string_view untyped;
  bool operation = false;
  std::vector<std::string_view> types;
  for (const std::string_view word : parts_of(name, '_')) {
    if (word == "simt") {
      kernel.unit = Unit::kSimt;
    } else if (!operation && read_operation(word, kernel, untyped)) {
      operation = true;
    } else if (!type_of(word).empty()) {
      types.push_back(type_of(word));
    }
  }
  if (!operation) {
    return std::nullopt;
  }
  if (kernel.unit == Unit::kTensorCore && types.empty()) {
    kernel.a_type = untyped;
    kernel.d_type = "f32";
  } else if (kernel.unit == Unit::kTensorCore) {
    // One type is that of the operands; of several D is first, then A, and in CUTLASS 3 D is last.
    const bool cutlass3 = name.starts_with("cutlass3x") && types.size() >= 2;
    kernel.a_type = cutlass3 ? types.front() : types.back();
    kernel.d_type = cutlass3 ? types.back() : types.front();
    if (types.size() == 1) {
      kernel.d_type = kernel.a_type == "tf32" ? "f32" : "";
    }
  }
  return kernel;
}

/// sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_.._tilesize128x128x32_stage4_..
KernelName decode_xmma(std::string_view name) {
  KernelName kernel;
  int pairs = 0;
  for (const std::string_view word : parts_of(name, '_')) {
    if (word == "simt" || word == "ffma") {
      kernel.unit = Unit::kSimt;
    } else if (word == "sparse" || word.starts_with("sptensor")) {
      kernel.sparse = true;
    } else if (const auto pair = type_pair(word)) {
      if (pairs++ == 0) {
        kernel.a_type = pair->first;
        kernel.d_type = pair->second;
      } else if (pair->first == "tf32") {
        kernel.a_type = "tf32";
      }
    }
  }
  return kernel;
}

/// nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN: a letter each for A, .., D.
KernelName decode_nvjet(std::string_view name) {
  constexpr std::string_view kLetters = "htsqrbid";
  static constexpr std::string_view kTypes[] = {"f16", "bf16", "f32", "e4m3", "e5m2", "s8", "s32", "f64"};
  KernelName kernel;
  for (const std::string_view word : parts_of(name, '_')) {
    if (kernel.a_type.empty() && word.size() >= 3 && word.size() <= 6 &&
        word.find_first_not_of(kLetters) == std::string_view::npos) {
      kernel.a_type = kTypes[kLetters.find(word.front())];
      kernel.d_type = kTypes[kLetters.find(word.back())];
    }
  }
  return kernel;
}

/// Kernels whose name has no tile.
std::optional<KernelName> decode_plain(std::string_view name) {
  static constexpr std::pair<std::string_view, Unit> kUnits[] = {{"splitKreduce_kernel", Unit::kHelper},
                                                                 {"gemvx::kernel", Unit::kGemv},
                                                                 {"gemv2N", Unit::kGemv},
                                                                 {"gemv2T", Unit::kGemv},
                                                                 {"gemvNSP", Unit::kGemv},
                                                                 {"cublasGemvParams", Unit::kGemv},
                                                                 {"gemmk1_kernel", Unit::kSimt},
                                                                 {"dot_kernel", Unit::kGemv},
                                                                 {"reduce_1Block_kernel", Unit::kHelper},
                                                                 {"gemmSN_", Unit::kSimt},
                                                                 {"magma_sgemm", Unit::kSimt},
                                                                 {"sgemm_largek", Unit::kSimt},
                                                                 {"reduce_wgrad", Unit::kHelper},
                                                                 {"implicit_convolve_sgemm", Unit::kSimt},
                                                                 {"convolve_common_engine_float", Unit::kSimt}};
  const auto* const found = std::ranges::find_if(kUnits, [name](const auto& row) { return contains(name, row.first); });
  if (found == std::end(kUnits)) {
    return std::nullopt;
  }
  KernelName kernel;
  kernel.unit = found->second;
  kernel.a_type = kernel.d_type = kernel.unit == Unit::kSimt ? "f32" : "";
  return kernel;
}

/// The NAME of "void cutlass::Kernel<NAME>(NAME::Params)".
std::string_view bare_name(std::string_view name) {
  const std::size_t kernel = name.find("Kernel");
  const std::size_t open = name.find('<');
  if (kernel != std::string_view::npos && open != std::string_view::npos && open < kernel + 8) {
    const std::size_t end = name.find_first_of(">,(", open + 1);
    return name.substr(open + 1, end == std::string_view::npos ? end : end - open - 1);
  }
  return name.substr(0, name.find_first_of("<( "));
}

/// Our name of a type as PyTorch calls it; as recorded where there is none.
std::string our_type(std::string_view word) {
  static constexpr NamedType kTypes[] = {{"c10::Float4_e2m1fn_x2", "e2m1"},
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
  const auto* const found = std::ranges::find(kTypes, word, &NamedType::first);
  return std::string(found == std::end(kTypes) ? word : found->second);
}

/// Whether `name` is of experts: "vllm::inplace_fused_experts, up".
bool shares_tokens(std::string_view name) {
  const Product* const product = find_product(name.substr(0, name.find(',')));
  return product != nullptr && (product->read == read_fused_experts || product->read == read_grouped);
}

}  // namespace

std::optional<KernelName> decode_kernel_name(std::string_view name) {
  if (auto plain = decode_plain(name)) {
    return plain;
  }
  const std::string_view bare = bare_name(name);
  if (bare.starts_with("nvjet")) {
    return decode_nvjet(bare);
  }
  return contains(bare, "xmma") ? std::optional(decode_xmma(bare)) : decode_tiled(bare);
}

const std::vector<std::int64_t>& TorchCall::input(std::size_t index) const {
  static const std::vector<std::int64_t> kNone;
  return index < dims.size() ? dims[index] : kNone;
}

std::string_view TorchCall::type(std::size_t index) const {
  std::string_view word = index < types.size() ? types[index] : std::string_view();
  constexpr std::string_view kTensor = "Tensor(";  // of execution traces
  if (word.starts_with(kTensor) && word.ends_with(")")) {
    word = word.substr(kTensor.size(), word.size() - kTensor.size() - 1);
  }
  return word;
}

std::string TorchCall::signature() const {
  return fmt::format("{} {} {} {} {}", name, dims, strides, types, values);
}

bool is_leaf_gemm(std::string_view name) {
  return find_product(name) != nullptr;
}

std::vector<RecordedLaunch> launches_of(const TorchCall& call, const std::string& place) {
  const Product* const product = find_product(call.name);
  base::ensure(product != nullptr, "launches_of() of an operation that is no GEMM");
  Reading reading{call, *product, place, {}, {}};
  RecordedLaunch& launch = reading.launch;
  launch.op.name = call.name;
  launch.dtype = product->first < call.types.size() ? our_type(call.type(product->first)) : "";
  launch.reason = product->reason;
  if (product->read != nullptr) {
    product->read(reading);
  }
  const base::GemmShape& shape = launch.op.shape;
  if (launch.reason.empty() && (shape.m < 1 || shape.n < 1 || shape.k < 1)) {
    launch.op.shape = {};
    launch.op.storage = {};
    reading.refuse("the recorded inputs do not tell m, n and k");
  }
  std::vector<RecordedLaunch> launches{std::move(launch)};
  std::move(reading.behind.begin(), reading.behind.end(), std::back_inserter(launches));
  return launches;
}

std::vector<std::string> grounds_of(const std::vector<Operation>& operations) {
  std::vector<std::string> grounds{
      "A is taken for a weight in addmm with a bias, _scaled_mm, sparse operations, products of libraries and "
      "convolutions, and in mm where its second operand is stored as [out, in]; PyTorch's M is n here, its N is m"};
  if (std::ranges::any_of(operations, [](const Operation& op) { return shares_tokens(op.name); })) {
    grounds.emplace_back(
        "how many tokens each expert of a grouped GEMM gets is not recorded: all are taken to get as many, and their "
        "matrices are taken for weights");
  }
  return grounds;
}

void apply_no_kernel(const TorchCall& call, bool tf32, RecordedLaunch& launch) {
  constexpr std::size_t kAllowTf32 = 8;  // the last input of aten::cudnn_convolution
  const bool allowed =
      call.name == "aten::cudnn_convolution" && call.values.size() > kAllowTf32 && call.values[kAllowTf32] == "true";
  if (launch.dtype == "f32" && launch.reason.empty() && (tf32 || allowed)) {
    launch.dtype = "tf32";
  }
  apply_kernel(nullptr, "", launch);
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
    launch.reason = name.empty() ? "f32, and no kernel says whether it runs as TF32 (--tf32 says so)"
                                 : "f32, and the kernel's name does not say that it runs as TF32";
  }
}

}  // namespace sptc::workload::profile
