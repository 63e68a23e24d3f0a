// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/sparsity/pattern.h"
#include "sim/io/csv.h"
#include "sim/io/text_file.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

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

Layout read_header(const io::CsvRecord& header, const std::string& file) {
  Layout layout;
  layout.fill(-1);
  for (std::size_t i = 0; i < header.fields.size(); ++i) {
    const std::string& name = header.fields[i];
    const auto found = std::find(kColumnNames.begin(), kColumnNames.end(), name);
    if (found == kColumnNames.end()) {
      fail(file, header.line,
           "the first line must name the columns, and there is no column " +
               base::unknown_name(io::printable(name), kColumnNames));
    }
    int& field = layout[static_cast<std::size_t>(found - kColumnNames.begin())];
    if (field >= 0) {
      fail(file, header.line, fmt::format("the column '{}' stands twice", name));
    }
    field = static_cast<int>(i);
  }
  for (const Column column : {kM, kN, kK}) {
    if (layout[column] < 0) {
      fail(file, header.line, fmt::format("the column '{}' is missing", kColumnNames[column]));
    }
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
bool read_sparsity(const Row& row, numerics::DataType type) {
  const std::string_view text = row.field(kSparsity);
  if (text.empty() || text == "dense" || text == "1:1") {
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
    const std::optional<numerics::DataType> parsed = parse_operand_type(type);
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

}  // namespace

Workload parse_workload_csv(std::string_view text, const std::filesystem::path& file) {
  const std::string shown = io::printable(file.string());
  const std::vector<io::CsvRecord> records = io::parse_csv(text, shown);
  if (records.empty()) {
    throw base::InputError(shown + ": empty; the first line must name the columns m,n,k[,...]");
  }
  const Layout layout = read_header(records[0], shown);
  Workload workload;
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
  return workload;
}

}  // namespace sptc::workload
