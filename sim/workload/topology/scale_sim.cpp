// SPDX-License-Identifier: Apache-2.0
//
// The topology files of SCALE-Sim, which follow scalesim/topology_utils.py: the first line is a
// header, and every row may end in a comma. Its M are tokens or pixels, its N features.
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/csv.h"
#include "sim/io/text_file.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/readers.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

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

/// The columns of a file, as its header names them.
struct Columns {
  Kind kind = Kind::kGemm;
  bool tabs = false;              ///< stand between them
  bool two_strides = false;       ///< of height and width, as SCALE-Sim's own writer has them
  std::vector<std::string> more;  ///< names of those behind: "sparsity", "batchsize", others

  /// Columns that each row has.
  std::size_t fixed() const {
    constexpr std::size_t kOfGemm = 4, kOfConvolution = 8;
    return kind == Kind::kGemm ? kOfGemm : kOfConvolution + (two_strides ? 1 : 0);
  }
};

/// By the header; nothing where the file is none of SCALE-Sim.
std::optional<Columns> columns_of(std::string_view head) {
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  Columns columns;
  columns.tabs = line.find(',') == std::string_view::npos;
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(columns.tabs ? '\t' : ',', at), line.size());
    names.push_back(lower_without_blanks(line.substr(at, end - at)));
    at = end + 1;
  }
  constexpr std::size_t kFewest = 4;
  const std::string& first = names[0];
  const auto is = [&names](std::size_t column, std::string_view name) {
    return column < names.size() && names[column].starts_with(name);
  };
  if (names.size() < kFewest || (first != "layer" && first != "layername" && first != "l")) {
    return std::nullopt;
  }
  const bool intraline = lower_without_blanks(line).find("intraline") != std::string::npos;
  if (is(1, "ifmap") && is(2, "ifmap") && is(3, "filter") && is(4, "filter") && !intraline) {
    columns.kind = Kind::kConvolution;
    columns.two_strides = is(7, "strideh") && is(8, "stridew");
  } else if (names[1] != "m" || names[2] != "n" || names[3] != "k") {
    return std::nullopt;
  }
  if (names.size() > columns.fixed()) {
    columns.more.assign(names.begin() + static_cast<std::ptrdiff_t>(columns.fixed()), names.end());
  }
  return columns;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? std::string()
                                    : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// One row; blank fields at its end do not count, nor does what stands behind a '#'.
class Row {
 public:
  Row(const io::CsvRecord& record, std::string place) : place_(std::move(place)) {
    for (const std::string& field : record.fields) {
      const std::size_t comment = field.find('#');
      fields_.push_back(trimmed(field.substr(0, comment)));
      if (comment != std::string::npos) {
        commented_ = true;
        break;
      }
    }
    while (!fields_.empty() && fields_.back().empty()) {
      fields_.pop_back();
    }
  }

  bool empty() const { return fields_.empty(); }
  bool commented() const { return commented_; }
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
  bool commented_ = false;
};

/// What a row has behind the columns of its kind.
struct Rest {
  std::optional<std::string> sparsity;  ///< "2:4" and others; "1:1" is dense
  std::int64_t batch = 1;
};

Rest rest_of(const Row& row, const Columns& columns) {
  Rest rest;
  std::string sparsity;
  for (std::size_t i = columns.fixed(); i < row.size(); ++i) {
    const std::size_t more = i - columns.fixed();
    const std::string& name = more < columns.more.size() ? columns.more[more] : std::string();
    const std::string& text = row.text(i);
    if (name == "batchsize") {
      rest.batch = row.integer(i, "the batch size");
    } else if ((name.empty() || name == "sparsity") && !text.empty()) {
      sparsity += (sparsity.empty() ? "" : ":") + text;  // "2:4", or 2 and 4
    }
  }
  const bool pattern = sparsity.size() >= 3 &&
                       std::count(sparsity.begin(), sparsity.end(), ':') == 1 &&
                       sparsity.find_first_not_of("0123456789:") == std::string::npos;
  if (!pattern && !sparsity.empty()) {
    throw base::InputError(fmt::format("{}: must end in a sparsity such as 2:4, not '{}'",
                                       row.place(), io::printable(row.text(row.size() - 1))));
  }
  if (pattern) {
    rest.sparsity = sparsity;
  }
  return rest;
}

void read_gemm(const Row& row, RecordedLaunch& launch) {
  launch.op.shape = {row.integer(2, "N"), row.integer(1, "M"), row.integer(3, "K")};
}

/// Its output is rounded up, so that the input is as large as that needs.
std::int64_t padded_input(std::int64_t input, std::int64_t filter, std::int64_t stride) {
  return input < filter ? input : (input - filter + stride - 1) / stride * stride + filter;
}

void read_convolution(const Row& row, const Columns& columns, std::int64_t batch,
                      RecordedLaunch& launch) {
  ConvGeometry conv;
  conv.n = batch;
  conv.r = row.integer(3, "the filter height");
  conv.s = row.integer(4, "the filter width");
  conv.c = row.integer(5, "the number of channels");
  conv.k = row.integer(6, "the number of filters");
  conv.stride = {row.integer(7, "the stride"),
                 row.integer(columns.two_strides ? 8 : 7, "the stride of the width")};
  conv.h = padded_input(row.integer(1, "the IFMAP height"), conv.r, conv.stride[0]);
  conv.w = padded_input(row.integer(2, "the IFMAP width"), conv.s, conv.stride[1]);
  if (launch.op.name.find("DP") != std::string::npos) {  // depthwise, by SCALE-Sim's own rule
    conv.groups = conv.c;
    conv.k = extent_product({conv.c, conv.k});
  }
  if (!lower_convolution(conv, launch.op)) {
    throw base::InputError(row.place() + ": the geometry of this convolution gives no GEMM");
  }
}

/// On what of the file is not read.
void add_notes(const Columns& columns, std::int64_t comments, std::vector<std::string>& notes) {
  std::vector<std::string> unread;
  for (const std::string& name : columns.more) {
    if (!name.empty() && name != "sparsity" && name != "batchsize") {
      unread.push_back("'" + io::printable(name) + "'");
    }
  }
  if (!unread.empty()) {
    notes.push_back(fmt::format("columns that are not read: {}", fmt::join(unread, ", ")));
  }
  if (comments > 0) {
    notes.push_back(
        fmt::format("{} behind '#' {} not read: SCALE-Sim does not either",
                    comments == 1 ? "a comment" : std::to_string(comments) + " comments",
                    comments == 1 ? "is" : "are"));
  }
}

void read(input::InputStream& input, const ImportOptions& /*options*/, Recording& recording) {
  constexpr std::size_t kMaxBytes = 64 << 20;
  const std::optional<Columns> columns = columns_of(input.head());
  if (!columns) {
    throw base::InputError(input.name() + ": its first line is no header of a SCALE-Sim topology");
  }
  std::string text = input.rest(kMaxBytes);
  if (columns->tabs) {
    std::replace(text.begin(), text.end(), '\t', ',');
  }
  const std::vector<io::CsvRecord> records = io::parse_csv(text, input.name());
  std::int64_t comments = 0;
  LaunchList list;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const Row row(records[i], fmt::format("{}:{}", input.name(), records[i].line));
    comments += row.commented() ? 1 : 0;
    if (row.empty()) {
      continue;
    }
    RecordedLaunch launch;
    launch.op.name = row.text(0);
    launch.dtype = "f16";
    const Rest rest = rest_of(row, *columns);
    columns->kind == Kind::kGemm ? read_gemm(row, launch)
                                 : read_convolution(row, *columns, rest.batch, launch);
    launch.weight = rest.sparsity != "1:1";
    // What is 1:2 is 2:4, too.
    if (rest.sparsity && rest.sparsity != "1:1" && rest.sparsity != "2:4" &&
        rest.sparsity != "1:2") {
      launch.reason =
          fmt::format("sparsity {}: --pattern simulates it, as 2:4 in the file", *rest.sparsity);
    }
    list.add(std::move(launch), row.place());
  }
  recording.account.notes.emplace_back(
      "the filter is the weight A: M of SCALE-Sim, tokens or pixels, is n, and its N is m");
  recording.account.notes.emplace_back("the file says no type: f16, which --dtype replaces");
  add_notes(*columns, comments, recording.account.notes);
  std::move(list).move_to(recording, input.name());
}

}  // namespace

const Reader kScaleSim{"topology of SCALE-Sim",
                       [](const Head& head) { return columns_of(head.text).has_value(); }, read};

}  // namespace sptc::workload::topology
