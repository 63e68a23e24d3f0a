// SPDX-License-Identifier: Apache-2.0
//
// The topology files of SCALE-Sim, which follow scalesim/topology_utils.py: the first line is a
// header, and every row may end in a comma. Its M are tokens or pixels, its N features.
#include "models/base/text.h"
#include "sim/io/csv.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/readers.h"

#include <fmt/ranges.h>

#include <cctype>

namespace sptc::workload::topology {
namespace {

std::string lower_without_blanks(std::string_view text) {
  std::string result = base::lower_case(text);
  std::erase_if(result, [](unsigned char c) { return std::isspace(c) != 0; });
  return result;
}

constexpr const char* kBatchColumn = "the batch size";

struct Columns {
  bool convolutions = false;
  bool two_strides = false;        ///< of height and width, as SCALE-Sim's own writer has them
  bool tabs = false;               ///< stand between them
  std::size_t fixed = 0;           ///< that each row has
  std::vector<std::string> names;  ///< of the fixed ones as messages say them, then of the header
};

/// Reads the header; nothing where the file is none of SCALE-Sim.
std::optional<Columns> columns_of(std::string_view head) {
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  Columns columns;
  columns.tabs = line.find(',') == std::string_view::npos;
  std::vector<std::string>& names = columns.names;
  for (const std::string_view name : parts_of(line, columns.tabs ? '\t' : ',')) {
    names.push_back(lower_without_blanks(name));
  }
  constexpr std::size_t kFewest = 4;
  const std::string& first = names[0];
  const auto is = [&names](std::size_t column, std::string_view name) {
    return column < names.size() && names[column].starts_with(name);
  };
  if (names.size() < kFewest || (first != "layer" && first != "layername" && first != "l")) {
    return std::nullopt;
  }
  std::vector<std::string> fixed{"layer", "M", "N", "K"};
  const bool intraline = lower_without_blanks(line).find("intraline") != std::string::npos;
  if (is(1, "ifmap") && is(2, "ifmap") && is(3, "filter") && is(4, "filter") && !intraline) {
    columns.convolutions = true;
    fixed = {"layer",
             "the IFMAP height",
             "the IFMAP width",
             "the filter height",
             "the filter width",
             "the number of channels",
             "the number of filters",
             "the stride"};
    columns.two_strides = is(7, "strideh") && is(8, "stridew");
    if (columns.two_strides) {
      fixed.emplace_back("the stride of the width");
    }
  } else if (names[1] != "m" || names[2] != "n" || names[3] != "k") {
    return std::nullopt;
  }
  columns.fixed = fixed.size();
  names.resize(std::max(names.size(), fixed.size()));
  std::copy(fixed.begin(), fixed.end(), names.begin());
  std::ranges::replace(names, std::string("batchsize"), std::string(kBatchColumn));
  return columns;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Returns the fields without blank ones at the end and without what stands behind a '#'.
std::vector<std::string> fields_of(const io::CsvRecord& record, std::int64_t& comments) {
  std::vector<std::string> fields;
  for (const std::string& field : record.fields) {
    const std::size_t comment = field.find('#');
    fields.push_back(trimmed(field.substr(0, comment)));
    if (comment != std::string::npos) {
      ++comments;
      break;
    }
  }
  while (!fields.empty() && fields.back().empty()) {
    fields.pop_back();
  }
  return fields;
}

/// "2:4" and others behind the columns of its kind, "1:1" is dense; empty: nothing is said.
std::string sparsity_of(const std::vector<std::string>& fields, const Columns& columns, const CsvRow& row) {
  std::string sparsity;
  for (std::size_t i = columns.fixed; i < fields.size(); ++i) {
    const std::string& name = i < columns.names.size() ? columns.names[i] : std::string();
    if ((name.empty() || name == "sparsity") && !fields[i].empty()) {
      sparsity += (sparsity.empty() ? "" : ":") + fields[i];  // "2:4", or 2 and 4
    }
  }
  const bool pattern = sparsity.size() >= 3 && std::ranges::count(sparsity, ':') == 1 &&
                       sparsity.find_first_not_of("0123456789:") == std::string::npos;
  if (!pattern && !sparsity.empty()) {
    row.fail("must end in a sparsity such as 2:4, not '{}'", io::printable(fields.back()));
  }
  return sparsity;
}

/// Its output is rounded up, so that the input is as large as that needs.
std::int64_t padded_input(std::int64_t input, std::int64_t filter, std::int64_t stride) {
  return input < filter ? input : (input - filter + stride - 1) / stride * stride + filter;
}

void read_convolution(const CsvRow& row, bool two_strides, RecordedLaunch& launch) {
  ConvGeometry conv;
  conv.n = row.integer_or(kBatchColumn, 1);
  conv.r = row.integer("the filter height");
  conv.s = row.integer("the filter width");
  conv.c = row.integer("the number of channels");
  conv.k = row.integer("the number of filters");
  conv.stride = {row.integer("the stride"), row.integer(two_strides ? "the stride of the width" : "the stride")};
  conv.h = padded_input(row.integer("the IFMAP height"), conv.r, conv.stride[0]);
  conv.w = padded_input(row.integer("the IFMAP width"), conv.s, conv.stride[1]);
  if (launch.op.name.find("DP") != std::string::npos) {  // depthwise, by SCALE-Sim's own rule
    conv.groups = conv.c;
    conv.k = extent_product({conv.c, conv.k});
  }
  if (!lower_convolution(conv, launch.op)) {
    row.fail("the geometry of this convolution gives no GEMM");
  }
}

void add_notes(const Columns& columns, std::int64_t comments, std::vector<std::string>& notes) {
  std::vector<std::string> unread;
  for (std::size_t i = columns.fixed; i < columns.names.size(); ++i) {
    const std::string& name = columns.names[i];
    if (!name.empty() && name != "sparsity" && name != kBatchColumn) {
      unread.push_back("'" + io::printable(name) + "'");
    }
  }
  if (!unread.empty()) {
    notes.push_back(fmt::format("columns that are not read: {}", fmt::join(unread, ", ")));
  }
  if (comments > 0) {
    notes.push_back(fmt::format("{} behind '#' {} not read: SCALE-Sim does not either",
                                comments == 1 ? "a comment" : std::to_string(comments) + " comments",
                                comments == 1 ? "is" : "are"));
  }
}

void read_topology(input::InputStream& input, const ImportOptions& /*options*/, Recording& recording) {
  constexpr std::size_t kMaxBytes = 64 << 20;
  const std::optional<Columns> columns = columns_of(input.head());
  if (!columns) {
    io::refuse("{}: its first line is no header of a SCALE-Sim topology", input.name());
  }
  std::string text = input.rest(kMaxBytes);
  if (columns->tabs) {
    std::ranges::replace(text, '\t', ',');
  }
  const std::vector<io::CsvRecord> records = io::parse_csv(text, input.name());
  std::int64_t comments = 0;
  LaunchList list;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const std::vector<std::string> fields = fields_of(records[i], comments);
    if (fields.empty()) {
      continue;
    }
    const CsvRow row(columns->names, fields, fmt::format("{}:{}", input.name(), records[i].line));
    RecordedLaunch launch;
    launch.op.name = fields[0];
    launch.dtype = "f16";
    const std::string sparsity = sparsity_of(fields, *columns, row);
    if (columns->convolutions) {
      read_convolution(row, columns->two_strides, launch);
    } else {
      launch.op.shape = {row.integer("N"), row.integer("M"), row.integer("K")};
    }
    launch.weight = sparsity != "1:1";
    // What is 1:2 is 2:4, too.
    if (!sparsity.empty() && sparsity != "1:1" && sparsity != "2:4" && sparsity != "1:2") {
      launch.reason = fmt::format("sparsity {}: --pattern simulates it, as 2:4 in the file", sparsity);
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

const Reader kScaleSim{"topology of SCALE-Sim", [](const Head& head) { return columns_of(head.text).has_value(); },
                       read_topology};

}  // namespace sptc::workload::topology
