// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"
#include "models/sparsity/pattern.h"
#include "sim/io/csv.h"
#include "sim/workload/readers.h"
#include "sim/workload/workload_text.h"

#include <fmt/ranges.h>

namespace sptc::workload {
namespace {

constexpr std::array<std::string_view, 12> kColumns = {"m",     "n",    "k", "dtype", "sparsity", "batch",
                                                       "count", "name", "b", "group", "rest_ns",  "rest_bytes"};

/// Upper and lower case and blanks around a name are alike: "M", " dtype".
std::string column_name(std::string_view field) {
  const std::string name = base::lower_case(field);
  const std::size_t first = name.find_first_not_of(' ');
  return first == std::string::npos ? "" : name.substr(first, name.find_last_not_of(' ') - first + 1);
}

/// "'sparcity' (like 'sparsity')".
std::string unread_column(std::string_view field) {
  const std::string_view near = base::nearest_name(column_name(field), kColumns);
  const bool alike = near.size() > 2 && column_name(field).starts_with(near.substr(0, 2));
  return fmt::format("'{}'{}", io::printable(field), alike ? fmt::format(" (like '{}')", near) : "");
}

/// The names of the columns; `notes` gets one on those that are not read.
std::vector<std::string> read_header(const io::CsvRecord& header, const std::string& file,
                                     std::vector<std::string>& notes) {
  const CsvRow row({}, header.fields, fmt::format("{}:{}", file, header.line));
  std::vector<std::string> columns, unread;
  for (const std::string& field : header.fields) {
    std::string name = column_name(field);
    if (std::ranges::count(kColumns, name) == 0) {
      unread.push_back(unread_column(field));
    } else if (std::ranges::count(columns, name) > 0) {
      row.fail("the column '{}' stands twice", name);
    }
    columns.push_back(std::move(name));
  }
  for (const std::string_view name : {"m", "n", "k"}) {
    if (std::ranges::count(columns, name) == 0) {
      row.fail("the first line must name the columns, and '{}' is missing", name);
    }
  }
  if (!unread.empty()) {
    notes.push_back(fmt::format("columns that are not read: {}", fmt::join(unread, ", ")));
  }
  return columns;
}

/// "dense" or the pattern that the hardware executes for the type; "1:1" is dense as in SCALE-Sim.
/// A weight that the file says nothing of is pruned, as in `sptcsim gemm`.
bool read_sparsity(const CsvRow& row, numerics::DataType type) {
  const std::string_view text = row.text("sparsity");
  if (text.empty()) {
    return true;
  }
  if (text == "dense" || text == "1:1") {
    return false;
  }
  const std::string pattern = sparsity::hardware_pattern(type).name();
  if (text != pattern) {
    row.fail("sparsity must be 'dense' or, for {}, '{}', not '{}'", numerics::name(type), pattern, io::printable(text));
  }
  return true;
}

Operation read_operation(const CsvRow& row) {
  Operation op;
  op.shape = {row.integer("m"), row.integer("n"), row.integer("k")};
  op.batch = row.integer_or("batch", 1);
  op.count = row.integer_or("count", 1);
  if (const std::string_view type = row.text("dtype"); !type.empty()) {
    const std::optional<kernels::OperandFormat> format = parse_operand_format(type);
    if (!format) {
      row.fail("{}", unknown_operand_type(type));
    }
    op.dtype = format->type;
    op.storage.scale_block = format->scale_block;
  }
  op.prunable = read_sparsity(row, op.dtype);
  op.name = row.text("name");
  if (op.name.empty()) {
    op.name = fmt::format("{}x{}x{}", op.shape.m, op.shape.n, op.shape.k);
  }
  if (const std::string_view b = row.text("b"); !b.empty()) {
    if (b != kZeroB) {
      row.fail("b must be '{}' or empty, not '{}'", kZeroB, io::printable(b));
    }
    op.b_is_zero = true;
  }
  op.group = row.text("group");
  op.rest = {row.integer_or("rest_ns", 0, 0, kMaxRest), row.integer_or("rest_bytes", 0, 0, kMaxRest)};
  if (!is_possible(op.rest)) {
    row.fail(kImpossibleRest);
  }
  return op;
}

constexpr std::string_view kTokensHint =
    "m looks like tokens: k equals an n of the file and no m, but m of one layer is k of the next. The weight is "
    "A[m,k] here; --convention tokens-first swaps m and n";

/// What one layer puts out, its m, is k of the next. Where n is instead, the file has tokens first.
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

Workload parse_workload_csv(std::string_view text, const std::filesystem::path& file, Convention convention) {
  const std::string shown = io::printable(file.string());
  const std::vector<io::CsvRecord> records = io::parse_csv(text, shown);
  if (records.empty()) {
    io::refuse("{}: empty; the first line must name the columns m,n,k[,...]", shown);
  }
  Workload workload;
  const std::vector<std::string> columns = read_header(records[0], shown, workload.notes);
  workload.file = file;
  workload.name = file.stem().string();
  std::int64_t macs = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const io::CsvRecord& record = records[i];
    const CsvRow row(columns, record.fields, fmt::format("{}:{}", shown, record.line));
    if (record.fields.size() != columns.size()) {
      row.fail("{} fields, but the header has {}", record.fields.size(), columns.size());
    }
    workload.operations.push_back(read_operation(row));
    if (!add_macs(macs, workload.operations.back())) {
      row.fail("m*n*k*batch*count, summed over the operations, exceeds 64 bits");
    }
  }
  if (workload.operations.empty()) {
    io::refuse("{}: has a header but no operations", shown);
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

std::size_t CsvRow::index(std::string_view column) const {
  return static_cast<std::size_t>(std::ranges::find(columns_, column) - columns_.begin());
}

std::string_view CsvRow::text(std::string_view column) const {
  const std::size_t at = index(column);
  return at < columns_.size() && at < fields_.size() ? std::string_view(fields_[at]) : std::string_view();
}

std::int64_t CsvRow::integer(std::string_view column, std::int64_t least, std::int64_t most) const {
  const std::size_t at = index(column);
  if (at < columns_.size() && at >= fields_.size()) {
    fail("{} fields, so {} is missing", fields_.size(), column);
  }
  const std::string_view field = text(column);
  std::int64_t value = 0;
  if (!io::parse_whole(field, value) || value < least || value > most) {
    fail("{} must be an integer from {} to {}, not '{}'", column, least, most, io::printable(field));
  }
  return value;
}

std::int64_t CsvRow::integer_or(std::string_view column, std::int64_t absent, std::int64_t least,
                                std::int64_t most) const {
  return text(column).empty() ? absent : integer(column, least, most);
}

}  // namespace sptc::workload
