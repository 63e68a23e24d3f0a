// SPDX-License-Identifier: Apache-2.0
//
// The topology files of SCALE-Sim, which follow scalesim/topology_utils.py: the first line is a
// header, and every row may end in a comma. Its M are tokens or pixels, its N features.
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/csv.h"
#include "sim/io/text_file.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/topology/readers.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

namespace sptc::workload::topology {
namespace {

enum class Kind { kGemm, kConvolution };

std::string lower_without_blanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      result += c;
    }
  }
  return base::lower_case(result);
}

/// By the header; nothing where the file is none of SCALE-Sim.
std::optional<Kind> kind_of(std::string_view head) {
  const std::string header = lower_without_blanks(head.substr(0, head.find_first_of("\r\n")));
  if (!header.starts_with("layer")) {
    return std::nullopt;
  }
  const std::string columns = header.substr(std::min(header.find(','), header.size()));
  if (columns.starts_with(",ifmap") && columns.find("filter") != std::string::npos) {
    return Kind::kConvolution;
  }
  for (const char* of_gemm : {",m,n,k", ",m,n,k,", ",m,n,k,sparsity", ",m,n,k,sparsity,"}) {
    if (columns == of_gemm) {
      return Kind::kGemm;
    }
  }
  return std::nullopt;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? std::string()
                                    : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// One row; blank fields at its end do not count.
class Row {
 public:
  Row(const io::CsvRecord& record, std::string place) : place_(std::move(place)) {
    for (const std::string& field : record.fields) {
      fields_.push_back(trimmed(field));
    }
    while (!fields_.empty() && fields_.back().empty()) {
      fields_.pop_back();
    }
  }

  bool empty() const { return fields_.empty(); }
  std::size_t size() const { return fields_.size(); }
  const std::string& place() const { return place_; }
  const std::string& text(std::size_t column) const { return fields_.at(column); }
  std::int64_t integer(std::size_t column, const char* name) const {
    if (column >= fields_.size()) {
      throw base::InputError(
          fmt::format("{}: {} fields, so {} is missing", place_, fields_.size(), name));
    }
    const std::int64_t value = recorded_integer(fields_[column], place_, name);
    if (value < 1 || value > kMaxExtent) {
      throw base::InputError(
          fmt::format("{}: {} must be from 1 to {}, not {}", place_, name, kMaxExtent, value));
    }
    return value;
  }

 private:
  std::vector<std::string> fields_;
  std::string place_;
};

/// "2:4" and others; "1:1" is dense. Nothing where the row ends before it.
std::optional<std::string> sparsity_of(const Row& row, std::size_t column) {
  if (row.size() <= column) {
    return std::nullopt;
  }
  const std::string& text = row.text(column);
  const bool pattern = text.size() >= 3 && text.find(':') != std::string::npos &&
                       text.find_first_not_of("0123456789:") == std::string::npos;
  if (!pattern || row.size() > column + 1) {
    throw base::InputError(fmt::format("{}: must end in a sparsity such as 2:4, not '{}'",
                                       row.place(), io::printable(row.text(row.size() - 1))));
  }
  return text;
}

void read_gemm(const Row& row, RecordedLaunch& launch) {
  launch.op.shape = {row.integer(2, "N"), row.integer(1, "M"), row.integer(3, "K")};
}

/// Its output is rounded up, so that the input is as large as that needs.
std::int64_t padded_input(std::int64_t input, std::int64_t filter, std::int64_t stride) {
  return input < filter ? input : (input - filter + stride - 1) / stride * stride + filter;
}

void read_convolution(const Row& row, RecordedLaunch& launch) {
  ConvGeometry conv;
  conv.n = 1;
  conv.r = row.integer(3, "the filter height");
  conv.s = row.integer(4, "the filter width");
  conv.c = row.integer(5, "the number of channels");
  conv.k = row.integer(6, "the number of filters");
  const std::int64_t stride = row.integer(7, "the stride");
  conv.stride = {stride, stride};
  conv.h = padded_input(row.integer(1, "the IFMAP height"), conv.r, stride);
  conv.w = padded_input(row.integer(2, "the IFMAP width"), conv.s, stride);
  if (launch.op.name.find("DP") != std::string::npos) {  // depthwise, by SCALE-Sim's own rule
    conv.groups = conv.c;
    conv.k = extent_product({conv.c, conv.k});
  }
  if (!lower_convolution(conv, launch.op)) {
    throw base::InputError(row.place() + ": the geometry of this convolution gives no GEMM");
  }
}

}  // namespace

bool is_scale_sim(std::string_view head) {
  return kind_of(head).has_value();
}

void read_scale_sim(input::InputStream& input, const ImportOptions& /*options*/,
                    Recording& recording) {
  constexpr std::size_t kMaxBytes = 64 << 20;
  const std::optional<Kind> kind = kind_of(input.head());
  if (!kind) {
    throw base::InputError(input.name() + ": its first line is no header of a SCALE-Sim topology");
  }
  const std::vector<io::CsvRecord> records = io::parse_csv(input.rest(kMaxBytes), input.name());
  const std::size_t sparsity_column = *kind == Kind::kGemm ? 4 : 8;
  LaunchList list;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const Row row(records[i], fmt::format("{}:{}", input.name(), records[i].line));
    if (row.empty()) {
      continue;
    }
    RecordedLaunch launch;
    launch.op.name = row.text(0);
    launch.dtype = "f16";
    kind == Kind::kGemm ? read_gemm(row, launch) : read_convolution(row, launch);
    const std::optional<std::string> sparsity = sparsity_of(row, sparsity_column);
    launch.weight = sparsity != "1:1";
    // What is 1:2 is 2:4, too.
    if (sparsity && sparsity != "1:1" && sparsity != "2:4" && sparsity != "1:2") {
      launch.reason =
          fmt::format("sparsity {}: --pattern simulates it, as 2:4 in the file", *sparsity);
    }
    list.add(std::move(launch), row.place());
  }
  recording.account.notes.emplace_back(
      "the filter is the weight A: M of SCALE-Sim, tokens or pixels, is n, and its N is m");
  recording.account.notes.emplace_back("the file says no type: f16, which --dtype replaces");
  std::move(list).move_to(recording, input.name());
}

}  // namespace sptc::workload::topology
