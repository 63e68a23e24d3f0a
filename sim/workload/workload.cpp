// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace sptc::workload {

double Operation::distinct_b() const {
  if (!conv) {
    return 1;
  }
  const auto input = static_cast<double>(conv->h * conv->w);
  const auto read = static_cast<double>(conv->p * conv->q * conv->r * conv->s);
  return std::min(1.0, input / read);
}

Workload read_workload(const std::filesystem::path& path) {
  constexpr std::uint64_t kMaxFileBytes = 16 << 20;
  const std::string extension = path.extension().string();
  if (extension != ".json" && extension != ".csv") {
    throw base::InputError(io::printable(path.string()) + ": unknown kind of workload file '" +
                           io::printable(extension) + "' (allowed: .json, .csv)");
  }
  const std::string text = io::read_text_file(path, kMaxFileBytes);
  return extension == ".json" ? parse_workload_json(text, path) : parse_workload_csv(text, path);
}

namespace {

// Types that the simulated kernels take; more have an arithmetic (models/mma), but no data path.
constexpr std::array<std::string_view, 6> kKernelTypes{"f16", "bf16", "tf32", "e4m3", "e5m2", "s8"};

/// Other names of types, and ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kAliases{{
    {"fp8", "'e4m3' or 'e5m2'"},
    {"f8", "'e4m3' or 'e5m2'"},
    {"float8", "'e4m3' or 'e5m2'"},
    {"fp8_e4m3", "'e4m3'"},
    {"fp8_e5m2", "'e5m2'"},
    {"fp16", "'f16'"},
    {"half", "'f16'"},
    {"float16", "'f16'"},
    {"int8", "'s8'"},
    {"i8", "'s8'"},
    {"fp32", "'tf32'"},
    {"float32", "'tf32'"},
}};

}  // namespace

std::span<const std::string_view> kernel_operand_types() {
  return kKernelTypes;
}

std::optional<numerics::DataType> parse_operand_type(std::string_view name) {
  const bool known =
      std::find(kKernelTypes.begin(), kKernelTypes.end(), name) != kKernelTypes.end();
  return known ? numerics::parse_data_type(name) : std::nullopt;
}

std::string unknown_operand_type(std::string_view name) {
  const auto alias = std::find_if(kAliases.begin(), kAliases.end(),
                                  [name](const auto& row) { return row.first == name; });
  return "unknown operand type " + base::unknown_name(io::printable(name), kKernelTypes,
                                                      alias != kAliases.end() ? alias->second : "");
}

std::optional<std::int64_t> add_macs(std::int64_t total, const Operation& op) {
  std::optional<std::int64_t> product = op.shape.m;
  for (const std::int64_t factor : {op.shape.n, op.shape.k, op.batch, op.count}) {
    product = product ? base::checked_multiply(*product, factor) : std::nullopt;
  }
  std::int64_t sum = 0;
  if (!product || __builtin_add_overflow(total, *product, &sum)) {
    return std::nullopt;
  }
  return sum;
}

bool asp_eligible(std::int64_t output_features, std::int64_t input_channels) {
  return output_features % 8 == 0 && input_channels % 16 == 0;
}

}  // namespace sptc::workload
