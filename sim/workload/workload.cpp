// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/workload/dim_lists.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <iterator>
#include <ranges>

namespace sptc::workload {
namespace {

constexpr std::string_view kCsv = ".csv";

// Types that the simulated kernels take; more have an arithmetic (models/mma), but no data path.
constexpr std::array<std::string_view, 8> kKernelTypes{"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "s4", "e2m1"};
// What a quantised weight may be stored as.
constexpr std::array<std::string_view, 2> kWeightTypes{"s8", "s4"};

}  // namespace

double Operation::distinct_b() const {
  if (!conv) {
    return 1;
  }
  const auto pixels = static_cast<double>(conv->h * conv->w);
  const auto read = static_cast<double>(conv->p * conv->q * conv->r * conv->s);
  return std::min(1.0, pixels / read);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (const auto part : std::views::split(text, separator)) {
    parts.emplace_back(part.begin(), part.end());
  }
  parts.resize(std::max<std::size_t>(1, parts.size()));  // of no text, too
  return parts;
}

bool has_part(std::string_view name, std::string_view part) {
  return std::ranges::any_of(
      parts_of(name, '/'), [part](std::string_view path) { return std::ranges::count(parts_of(path, '.'), part) > 0; });
}

std::string title(const Workload& workload, const std::set<std::string>& without) {
  std::string values;
  for (const auto& [name, value] : workload.dims) {
    if (!without.contains(name)) {
      values += fmt::format("{}{}={}", values.empty() ? "" : ", ", name, value);
    }
  }
  return values.empty() ? workload.name : fmt::format("{} ({})", workload.name, values);
}

WorkloadText read_workload_text(const std::filesystem::path& path, const NamedDims& dims) {
  constexpr std::uint64_t kMaxFileBytes = 16 << 20;
  const std::string extension = path.extension().string();
  if (extension != ".json" && extension != kCsv) {
    io::refuse("{}: unknown kind of workload file '{}' (allowed: .json, .csv)", io::printable(path.string()),
               io::printable(extension));
  }
  return {io::read_text_file(path, kMaxFileBytes), path, dims};
}

Workload to_workload(const WorkloadText& text) {
  if (text.file.extension() != kCsv) {
    return parse_workload_json(text.text, text.file, text.dims);
  }
  OpenDims(text.dims, io::printable(text.file.string())).refuse_unused();
  return parse_workload_csv(text.text, text.file);
}

Workload read_workload(const std::filesystem::path& path, const NamedDims& dims) {
  return to_workload(read_workload_text(path, dims));
}

std::span<const std::string_view> kernel_operand_types() {
  return kKernelTypes;
}

std::optional<numerics::DataType> parse_operand_type(std::string_view name) {
  const bool known = std::ranges::count(kKernelTypes, name) > 0;
  return known ? numerics::parse_data_type(name) : std::nullopt;
}

std::optional<kernels::OperandFormat> parse_operand_format(std::string_view name) {
  const auto format = kernels::parse_operand_format(name);
  return format && parse_operand_type(numerics::name(format->type)) ? format : std::nullopt;
}

std::string unknown_operand_type(std::string_view name, std::span<const std::string_view> more) {
  std::vector<std::string_view> known(kKernelTypes.begin(), kKernelTypes.end());
  std::ranges::copy(kernels::block_format_names(), std::back_inserter(known));
  std::ranges::copy(more, std::back_inserter(known));
  const bool is_f32 = numerics::parse_usual_type(name) == numerics::DataType::kF32;
  return "unknown operand type " + base::unknown_name(io::printable(name), known, is_f32 ? "'tf32'" : "");
}

std::optional<numerics::DataType> parse_weight_type(std::string_view name) {
  const auto type = numerics::parse_usual_type(name);
  const bool known = type && std::ranges::count(kWeightTypes, numerics::name(*type)) > 0;
  return known ? type : std::nullopt;
}

std::string unknown_weight_type(std::string_view name) {
  return "unknown type of quantised weights " + base::unknown_name(io::printable(name), kWeightTypes);
}

Convention parse_convention(std::string_view name) {
  constexpr std::array<std::string_view, 2> kNames{"weight-first", "tokens-first"};
  return static_cast<Convention>(place_among(kNames, name, "--convention: unknown convention"));
}

bool add_macs(std::int64_t& total, const Operation& op) {
  std::optional<std::int64_t> product = op.shape.m;
  for (const std::int64_t factor : {op.shape.n, op.shape.k, op.batch, op.count}) {
    product = product ? base::checked_multiply(*product, factor) : std::nullopt;
  }
  return product && !__builtin_add_overflow(total, *product, &total);
}

}  // namespace sptc::workload
