// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/io/csv.h"
#include "sim/io/text_file.h"
#include "sim/workload/blas/call.h"
#include "sim/workload/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace sptc::workload::blas {
namespace {

constexpr std::string_view kHeader = "OperationKind,Operation,Disposition";
constexpr double kUsPerMs = 1000;

/// One record by the names of its columns.
class Row {
 public:
  Row(const std::map<std::string, std::size_t>& columns, const io::CsvRecord& record,
      std::string place)
      : columns_(columns), record_(record), place_(std::move(place)) {}

  const std::string& place() const { return place_; }
  std::string text(const std::string& column) const {
    const auto found = columns_.find(column);
    const bool there = found != columns_.end() && found->second < record_.fields.size();
    return there ? record_.fields[found->second] : std::string();
  }
  std::int64_t integer(const std::string& column) const {
    return recorded_integer(text(column), place_, column);
  }
  std::int64_t integer_or(const std::string& column, std::int64_t absent) const {
    return text(column).empty() ? absent : integer(column);
  }
  /// "f16" of "f16:column".
  std::string type(const std::string& column) const {
    const std::string field = text(column);
    return field.substr(0, field.find(':'));
  }
  double runtime_us() const {
    const std::string field = text("Runtime");
    double ms = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), ms);
    const bool number = error == std::errc() && end == field.data() + field.size() && ms >= 0;
    if (!number && !field.empty()) {
      throw base::InputError(
          fmt::format("{}: Runtime must be milliseconds, not '{}'", place_, io::printable(field)));
    }
    return number ? ms * kUsPerMs : 0;
  }

 private:
  const std::map<std::string, std::size_t>& columns_;
  const io::CsvRecord& record_;
  std::string place_;
};

ConvGeometry geometry(const Row& row) {
  ConvGeometry conv;
  conv.n = row.integer("n");
  conv.h = row.integer("h");
  conv.w = row.integer("w");
  conv.c = row.integer("c");
  conv.k = row.integer("k");
  conv.r = row.integer("r");
  conv.s = row.integer("s");
  conv.groups = row.integer_or("g", 1);
  conv.pad = {row.integer_or("pad_h", 0), row.integer_or("pad_w", 0)};
  conv.stride = {row.integer_or("stride_h", 1), row.integer_or("stride_w", 1)};
  conv.dilation = {row.integer_or("dilation_h", 1), row.integer_or("dilation_w", 1)};
  return conv;
}

std::string our_type(const std::string& type) {
  return type == "fe4m3" || type == "e4m3" ? "e4m3" : type == "fe5m2" ? "e5m2" : type;
}

RecordedLaunch read_row(const Row& row) {
  RecordedLaunch launch;
  const std::string kind = row.text("OperationKind");
  const bool conv = kind == "conv2d";
  launch.op.name = kind;
  launch.weight = true;
  launch.dtype = our_type(row.type(conv ? "Activation" : "A"));
  const std::string other = our_type(row.type(conv ? "Filter" : "B"));
  const bool both_fp8 = launch.dtype.starts_with('e') && other.starts_with('e');
  if (!other.empty() && other != launch.dtype && !both_fp8) {
    launch.dtype += " x " + other;
  }
  launch.op.recorded = {row.runtime_us(), row.text("Operation"),
                        our_type(row.type(row.type("D").empty() ? "C" : "D")),
                        kind == "spgemm" || kind == "sparse_gemm"};
  if (conv) {
    if (row.text("conv_kind") != "fprop") {
      launch.reason = "backward convolution";
    } else if (!lower_convolution(geometry(row), launch.op)) {
      throw base::InputError(row.place() + ": the geometry of this convolution gives no GEMM");
    }
  } else if (kind == "gemm" || launch.op.recorded.sparse) {
    launch.op.shape = {row.integer("m"), row.integer("n"), row.integer("k")};
    launch.op.batch = row.integer_or("batch_count", 1);
  } else {
    launch.reason = "operation kind '" + io::printable(kind) +
                    "' is not read: only gemm, spgemm and conv2d are";
  }
  if (row.text("op_class") == "simt") {
    launch.reason = launch.dtype + " on SIMT units, not on tensor cores";
  } else if (launch.dtype == "f32") {
    launch.dtype = "tf32";  // tensor cores have no other operands of 32 bits
  }
  const std::string disposition = row.text("Disposition");
  if (row.text("Status") != "success") {
    launch.reason = "its status is '" + io::printable(row.text("Status")) + "'";
  } else if (disposition != "passed" && disposition != "not_verified") {
    launch.reason = "its disposition is '" + io::printable(disposition) + "'";
  }
  return launch;
}

void read(input::InputStream& input, const ImportOptions& /*options*/, Recording& recording) {
  constexpr std::size_t kMaxBytes = 256 << 20;
  const std::string text = input.rest(kMaxBytes);
  // What the program prints before the table is skipped.
  const std::size_t header = text.rfind('\n', text.find(kHeader));
  const std::vector<io::CsvRecord> records = io::parse_csv(
      std::string_view(text).substr(header == std::string::npos ? 0 : header + 1), input.name());
  if (records.empty()) {
    throw base::InputError(io::printable(input.name()) + ": the profile has no table");
  }
  std::map<std::string, std::size_t> columns;
  for (std::size_t i = 0; i < records[0].fields.size(); ++i) {
    columns.emplace(records[0].fields[i], i);
  }
  const auto before = std::count(
      text.begin(),
      text.begin() + static_cast<std::ptrdiff_t>(header == std::string::npos ? 0 : header + 1),
      '\n');
  using Problem = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                             std::string, std::string>;
  std::map<Problem, std::size_t> fastest;
  std::vector<std::pair<RecordedLaunch, std::string>> launches;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const Row row(columns, records[i],
                  fmt::format("{}:{}", input.name(), records[i].line + before));
    RecordedLaunch launch = read_row(row);
    const Operation& op = launch.op;
    const bool taken = launch.reason.empty();
    launches.emplace_back(launch, row.place());
    if (!taken) {
      continue;
    }
    const auto [found, is_new] =
        fastest.emplace(Problem(op.name, op.shape.m, op.shape.n, op.shape.k, op.batch, launch.dtype,
                                op.recorded.d_dtype),
                        launches.size() - 1);
    if (!is_new) {
      RecordedLaunch& other = launches[found->second].first;
      const bool better =
          op.recorded.time_us > 0 && op.recorded.time_us < other.op.recorded.time_us;
      (better ? other : launches.back().first).reason =
          "another kernel for the same problem is faster";
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

const Reader kCutlassProfile{
    "profile of CUTLASS",
    [](const Head& head) { return head.text.find(kHeader) != std::string_view::npos; }, read};

}  // namespace sptc::workload::blas
