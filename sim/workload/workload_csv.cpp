// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/sparsity/pattern.h"
#include "sim/io/csv.h"
#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

namespace sptc::workload {
namespace {

enum Column {
  kM,
  kN,
  kK,
  kDtype,
  kSparsity,
  kBatch,
  kCount,
  kName,
  kB,
  kGroup,
  kRestNs,
  kRestBytes,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kColumnNames = {
    "m",     "n",    "k", "dtype", "sparsity", "batch",
    "count", "name", "b", "group", "rest_ns",  "rest_bytes"};

[[noreturn]] void fail(const std::string& file, std::int64_t line, std::string_view problem) {
  throw base::InputError(fmt::format("{}:{}: {}", file, line, problem));
}

/// Which field of a record each column is in; -1: the file does not have it.
using Layout = std::array<int, kColumns>;

/// Upper and lower case and blanks around a name are alike: "M", " dtype".
std::string column_name(std::string_view field) {
  const std::string name = base::lower_case(field);
  const std::size_t first = name.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : name.substr(first, name.find_last_not_of(' ') - first + 1);
}

/// "'sparcity' (like 'sparsity')".
std::string unread_column(std::string_view field) {
  const std::string_view near = base::nearest_name(column_name(field), kColumnNames);
  const bool alike = near.size() > 2 && column_name(field).starts_with(near.substr(0, 2));
  return fmt::format("'{}'{}", io::printable(field),
                     alike ? fmt::format(" (like '{}')", near) : "");
}

/// `notes` gets one on the columns that are not read.
Layout read_header(const io::CsvRecord& header, const std::string& file,
                   std::vector<std::string>& notes) {
  Layout layout;
  layout.fill(-1);
  std::vector<std::string> unread;
  for (std::size_t i = 0; i < header.fields.size(); ++i) {
    const auto found =
        std::find(kColumnNames.begin(), kColumnNames.end(), column_name(header.fields[i]));
    if (found == kColumnNames.end()) {
      unread.push_back(unread_column(header.fields[i]));
      continue;
    }
    int& field = layout[static_cast<std::size_t>(found - kColumnNames.begin())];
    if (field >= 0) {
      fail(file, header.line, fmt::format("the column '{}' stands twice", *found));
    }
    field = static_cast<int>(i);
  }
  for (const Column column : {kM, kN, kK}) {
    if (layout[column] < 0) {
      fail(file, header.line,
           fmt::format("the first line must name the columns, and '{}' is missing",
                       kColumnNames[column]));
    }
  }
  if (!unread.empty()) {
    notes.push_back(fmt::format("columns that are not read: {}", fmt::join(unread, ", ")));
  }
  return layout;
}

/// One record with its columns by name. Empty fields of optional columns mean the default.
class Row {
 public:
  Row(const io::CsvRecord& record, const Layout& layout, const std::string& file)
      : record_(record), layout_(layout), file_(file) {}

  std::string_view field(Column column) const {
    return layout_[column] < 0
               ? std::string_view{}
               : std::string_view(record_.fields[static_cast<std::size_t>(layout_[column])]);
  }

  [[noreturn]] void fail(std::string_view problem) const {
    workload::fail(file_, record_.line, problem);
  }

  std::int64_t integer(Column column, std::int64_t least = 1,
                       std::int64_t most = kMaxExtent) const {
    const std::string_view text = field(column);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
      fail(fmt::format("{} must be an integer from {} to {}, not '{}'", kColumnNames[column], least,
                       most, io::printable(text)));
    }
    return value;
  }

  std::int64_t integer_or_one(Column column) const {
    return field(column).empty() ? 1 : integer(column);
  }

  std::int64_t rest_or_zero(Column column) const {
    return field(column).empty() ? 0 : integer(column, 0, kMaxRest);
  }

 private:
  const io::CsvRecord& record_;
  const Layout& layout_;
  const std::string& file_;
};

/// "dense" or the pattern that the hardware executes for the type; "1:1" is dense as in SCALE-Sim.
/// A weight that the file says nothing of is pruned, as in `sptcsim gemm`.
bool read_sparsity(const Row& row, numerics::DataType type) {
  const std::string_view text = row.field(kSparsity);
  if (text.empty()) {
    return true;
  }
  if (text == "dense" || text == "1:1") {
    return false;
  }
  const std::string pattern = sparsity::hardware_pattern(type).name();
  if (text != pattern) {
    row.fail(fmt::format("sparsity must be 'dense' or, for {}, '{}', not '{}'",
                         numerics::name(type), pattern, io::printable(text)));
  }
  return true;
}

Operation read_operation(const Row& row) {
  Operation op;
  op.shape = {row.integer(kM), row.integer(kN), row.integer(kK)};
  op.batch = row.integer_or_one(kBatch);
  op.count = row.integer_or_one(kCount);
  if (const std::string_view type = row.field(kDtype); !type.empty()) {
    const std::optional<numerics::DataType> parsed = parse_usual_type(type);
    if (!parsed) {
      row.fail(unknown_operand_type(type));
    }
    op.dtype = *parsed;
  }
  op.prunable = read_sparsity(row, op.dtype);
  op.name = row.field(kName);
  if (op.name.empty()) {
    op.name = fmt::format("{}x{}x{}", op.shape.m, op.shape.n, op.shape.k);
  }
  if (const std::string_view b = row.field(kB); !b.empty()) {
    if (b != kZeroB) {
      row.fail(fmt::format("b must be '{}' or empty, not '{}'", kZeroB, io::printable(b)));
    }
    op.b_is_zero = true;
  }
  op.group = row.field(kGroup);
  op.rest = {row.rest_or_zero(kRestNs), row.rest_or_zero(kRestBytes)};
  if (!is_possible(op.rest)) {
    row.fail(std::string(kImpossibleRest));
  }
  return op;
}

constexpr std::string_view kTokensHint =
    "m looks like tokens: k equals an n of the file and no m, but m of one layer is k of the next. "
    "The weight is A[m,k] here; --convention tokens-first swaps m and n";

/// What one layer puts out, its m, is what another takes in, its k. Where n is instead, the file
/// has tokens first.
bool m_looks_like_tokens(const std::vector<Operation>& operations) {
  std::set<std::int64_t> depths;
  for (const Operation& op : operations) {
    depths.insert(op.shape.k);
  }
  std::size_t m_met = 0;
  std::size_t n_met = 0;
  for (const Operation& op : operations) {
    m_met += depths.contains(op.shape.m) ? 1 : 0;
    n_met += depths.contains(op.shape.n) ? 1 : 0;
  }
  return n_met > 0 && m_met == 0;
}

}  // namespace

Workload parse_workload_csv(std::string_view text, const std::filesystem::path& file,
                            Convention convention) {
  const std::string shown = io::printable(file.string());
  const std::vector<io::CsvRecord> records = io::parse_csv(text, shown);
  if (records.empty()) {
    throw base::InputError(shown + ": empty; the first line must name the columns m,n,k[,...]");
  }
  Workload workload;
  const Layout layout = read_header(records[0], shown, workload.notes);
  workload.file = file;
  workload.name = file.stem().string();
  std::int64_t macs = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const io::CsvRecord& record = records[i];
    if (record.fields.size() != records[0].fields.size()) {
      fail(shown, record.line,
           fmt::format("{} fields, but the header has {}", record.fields.size(),
                       records[0].fields.size()));
    }
    workload.operations.push_back(read_operation(Row(record, layout, shown)));
    const std::optional<std::int64_t> sum = add_macs(macs, workload.operations.back());
    if (!sum) {
      fail(shown, record.line, "m*n*k*batch*count, summed over the operations, exceeds 64 bits");
    }
    macs = *sum;
  }
  if (workload.operations.empty()) {
    throw base::InputError(shown + ": has a header but no operations");
  }
  if (convention == Convention::kTokensFirst) {
    for (Operation& op : workload.operations) {
      std::swap(op.shape.m, op.shape.n);
    }
  } else if (m_looks_like_tokens(workload.operations)) {
    workload.notes.emplace_back(kTokensHint);
  }
  return workload;
}

}  // namespace sptc::workload
