// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/torch_call.h"

#include "models/base/error.h"
#include "sim/workload/profile/torch_products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sptc::workload::profile {
namespace {

/// Our name of a type as PyTorch calls it; as recorded where there is none.
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

/// Of experts: "vllm::inplace_fused_experts, up".
bool shares_tokens(std::string_view name) {
  const Product* const product = find_product(name.substr(0, name.find(',')));
  return product != nullptr &&
         (product->read == read_fused_experts || product->read == read_grouped);
}

}  // namespace

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
  product->read(reading);
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
    launch.reason = name.empty()
                        ? "f32, and no kernel says whether it runs as TF32 (--tf32 says so)"
                        : "f32, and the kernel's name does not say that it runs as TF32";
  }
}

}  // namespace sptc::workload::profile
