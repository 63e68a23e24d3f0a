// SPDX-License-Identifier: Apache-2.0
#include "sim/io/csv.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/readers.h"

#include <tuple>

namespace sptc::workload::blas {
namespace {

constexpr std::string_view kHeader = "OperationKind,Operation,Disposition";
constexpr double kUsPerMs = 1000;

/// "f16" of "f16:column".
std::string type_of(const CsvRow& row, std::string_view column) {
  const std::string_view field = row.text(column);
  return std::string(field.substr(0, field.find(':')));
}

double runtime_us(const CsvRow& row) {
  const std::string_view field = row.text("Runtime");
  double ms = 0;
  const bool number = io::parse_whole(field, ms) && ms >= 0;
  if (!number && !field.empty()) {
    row.fail("Runtime must be milliseconds, not '{}'", io::printable(field));
  }
  return number ? ms * kUsPerMs : 0;
}

ConvGeometry geometry(const CsvRow& row) {
  const auto extent = [&](std::string_view column) { return row.integer(column, 0); };
  const auto extent_or = [&](std::string_view column, std::int64_t absent) {
    return row.integer_or(column, absent, 0);
  };
  ConvGeometry conv;
  conv.n = extent("n");
  conv.h = extent("h");
  conv.w = extent("w");
  conv.c = extent("c");
  conv.k = extent("k");
  conv.r = extent("r");
  conv.s = extent("s");
  conv.groups = extent_or("g", 1);
  conv.pad = {extent_or("pad_h", 0), extent_or("pad_w", 0)};
  conv.stride = {extent_or("stride_h", 1), extent_or("stride_w", 1)};
  conv.dilation = {extent_or("dilation_h", 1), extent_or("dilation_w", 1)};
  return conv;
}

std::string our_type(const std::string& type) {
  return type == "fe4m3" || type == "e4m3" ? "e4m3" : type == "fe5m2" ? "e5m2" : type;
}

RecordedLaunch read_row(const CsvRow& row) {
  RecordedLaunch launch;
  const std::string kind(row.text("OperationKind"));
  const bool conv = kind == "conv2d";
  launch.op.name = kind;
  launch.weight = true;
  launch.dtype = our_type(type_of(row, conv ? "Activation" : "A"));
  const std::string other = our_type(type_of(row, conv ? "Filter" : "B"));
  const bool both_fp8 = launch.dtype.starts_with('e') && other.starts_with('e');
  if (!other.empty() && other != launch.dtype && !both_fp8) {
    launch.dtype += " x " + other;
  }
  launch.op.recorded = {runtime_us(row), std::string(row.text("Operation")),
                        our_type(type_of(row, type_of(row, "D").empty() ? "C" : "D")),
                        kind == "spgemm" || kind == "sparse_gemm"};
  if (conv) {
    if (row.text("conv_kind") != "fprop") {
      launch.reason = "backward convolution";
    } else if (!lower_convolution(geometry(row), launch.op)) {
      row.fail("the geometry of this convolution gives no GEMM");
    }
  } else if (kind == "gemm" || launch.op.recorded.sparse) {
    launch.op.shape = {row.integer("m", 0), row.integer("n", 0), row.integer("k", 0)};
    launch.op.batch = row.integer_or("batch_count", 1, 0);
  } else {
    launch.reason = "operation kind '" + io::printable(kind) + "' is not read: only gemm, spgemm and conv2d are";
  }
  if (row.text("op_class") == "simt") {
    launch.reason = launch.dtype + " on SIMT units, not on tensor cores";
  } else if (launch.dtype == "f32") {
    launch.dtype = "tf32";  // tensor cores have no other operands of 32 bits
  }
  const std::string_view disposition = row.text("Disposition");
  if (row.text("Status") != "success") {
    launch.reason = "its status is '" + io::printable(row.text("Status")) + "'";
  } else if (disposition != "passed" && disposition != "not_verified") {
    launch.reason = "its disposition is '" + io::printable(disposition) + "'";
  }
  return launch;
}

void read_profile(input::InputStream& input, const ImportOptions& /*options*/, Recording& recording) {
  constexpr std::size_t kMaxBytes = 256 << 20;
  const std::string text = input.rest(kMaxBytes);
  // What the program prints before the table is skipped.
  const std::size_t header = text.rfind('\n', text.find(kHeader));
  const std::vector<io::CsvRecord> records =
      io::parse_csv(std::string_view(text).substr(header == std::string::npos ? 0 : header + 1), input.name());
  if (records.empty()) {
    io::refuse("{}: the profile has no table", io::printable(input.name()));
  }
  const auto before = std::count(
      text.begin(), text.begin() + static_cast<std::ptrdiff_t>(header == std::string::npos ? 0 : header + 1), '\n');
  using Problem =
      std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::string, std::string>;
  std::map<Problem, std::size_t> fastest;
  std::vector<std::pair<RecordedLaunch, std::string>> launches;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const CsvRow row(records[0].fields, records[i].fields,
                     fmt::format("{}:{}", input.name(), records[i].line + before));
    RecordedLaunch launch = read_row(row);
    const Operation& op = launch.op;
    const bool taken = launch.reason.empty();
    launches.emplace_back(launch, row.place());
    if (!taken) {
      continue;
    }
    const auto [found, is_new] = fastest.emplace(
        Problem(op.name, op.shape.m, op.shape.n, op.shape.k, op.batch, launch.dtype, op.recorded.d_dtype),
        launches.size() - 1);
    if (!is_new) {
      RecordedLaunch& other = launches[found->second].first;
      const bool better = op.recorded.time_us > 0 && op.recorded.time_us < other.op.recorded.time_us;
      (better ? other : launches.back().first).reason = "another kernel for the same problem is faster";
      found->second = better ? launches.size() - 1 : found->second;
    }
  }
  LaunchList list;
  for (auto& [launch, place] : launches) {
    list.add(std::move(launch), place);
  }
  recording.account.notes.emplace_back(
      "A is taken for the weight; of each problem the fastest kernel counts as one launch");
  std::move(list).move_to(recording, input.name());
}

}  // namespace

const Reader kCutlassProfile{"profile of CUTLASS",
                             [](const Head& head) { return head.text.find(kHeader) != std::string_view::npos; },
                             read_profile};

}  // namespace sptc::workload::blas
