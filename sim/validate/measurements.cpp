// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/measurements.h"

#include "models/base/error.h"
#include "sim/config/text_file.h"
#include "sim/trace/csv.h"
#include "sim/trace/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace sptc::sim {
namespace {

constexpr std::uint64_t kMaxBytes = 256U << 20;
// No launch ends within a nanosecond, and errors relative to less would not be finite.
constexpr double kMinTimeUs = 1e-3;
constexpr double kMaxTimeUs = 1e9;
constexpr std::string_view kZerosInProfiles = "/mlp_down_proj";

[[noreturn]] void fail(const std::string& file, std::int64_t line, std::string_view problem) {
  throw InputError(fmt::format("{}:{}: {}", file, line, problem));
}

/// Where the columns are.
struct Columns {
  std::size_t m = 0, n = 0, k = 0, time = 0;
  std::optional<std::size_t> source, operands, b, dtype, sparsity, batch;
};

Columns find_columns(const CsvRecord& header, const std::string& file) {
  const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto found = std::find(header.fields.begin(), header.fields.end(), name);
    if (found == header.fields.end()) {
      return std::nullopt;
    }
    if (std::find(found + 1, header.fields.end(), name) != header.fields.end()) {
      fail(file, header.line, fmt::format("the column '{}' stands twice", name));
    }
    return static_cast<std::size_t>(found - header.fields.begin());
  };
  const auto require = [&](std::string_view name) {
    const auto column = find(name);
    if (!column) {
      fail(file, header.line,
           fmt::format("the column '{}' is missing in '{}'; needed: m, n, k, time_us_median", name,
                       printable(fmt::format("{}", fmt::join(header.fields, ",")))));
    }
    return *column;
  };
  return {require("m"),     require("n"), require("k"),  require("time_us_median"), find("source"),
          find("operands"), find("b"),    find("dtype"), find("sparsity"),          find("batch")};
}

void add_ignored(const CsvRecord& header, std::vector<std::string>& ignored) {
  constexpr std::array<std::string_view, 10> kRead{
      "m", "n", "k", "time_us_median", "source", "operands", "b", "dtype", "sparsity", "batch"};
  for (const std::string& name : header.fields) {
    if (std::find(kRead.begin(), kRead.end(), name) == kRead.end()) {
      ignored.push_back(printable(name));
    }
  }
}

template <typename Number>
std::optional<Number> parse(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

/// Refuses a row of another launch than the one that is scored. An empty field says nothing.
void require_scored(const CsvRecord& record, const Columns& columns, const std::string& file,
                    bool sparse) {
  const auto require = [&](std::optional<std::size_t> column, std::string_view name,
                           std::initializer_list<std::string_view> scored, std::string_view what) {
    const std::string_view text = column ? std::string_view(record.fields[*column]) : "";
    if (!text.empty() && std::find(scored.begin(), scored.end(), text) == scored.end()) {
      fail(file, record.line, fmt::format("{} is '{}', but {}", name, printable(text), what));
    }
  };
  require(columns.dtype, "dtype", {"f16"}, "GEMMs of f16 are scored");
  require(columns.batch, "batch", {"1"}, "single GEMMs are scored");
  if (sparse) {
    require(columns.sparsity, "sparsity", {"2:4"}, "2:4 launches are scored (--variants sparse)");
  } else {
    // As in a workload; 1:1 is how SCALE-Sim writes it.
    require(columns.sparsity, "sparsity", {"dense", "1:1"},
            "dense launches are scored (--variants dense)");
  }
}

Measurement read_row(const CsvRecord& record, const Columns& columns, const std::string& file) {
  const auto extent = [&](std::size_t column, std::string_view name) {
    const std::string& text = record.fields[column];
    const auto value = parse<std::int64_t>(text);
    if (!value || *value < 1 || *value > kMaxExtent) {
      fail(file, record.line,
           fmt::format("{} must be an integer from 1 to {}, not '{}'", name, kMaxExtent,
                       printable(text)));
    }
    return *value;
  };
  Measurement row;
  row.shape = {extent(columns.m, "m"), extent(columns.n, "n"), extent(columns.k, "k")};
  const std::string& text = record.fields[columns.time];
  const auto time = parse<double>(text);
  if (!time || !(*time >= kMinTimeUs && *time <= kMaxTimeUs)) {
    fail(file, record.line,
         fmt::format("time_us_median must be a number from {:g} to {:g}, not '{}'", kMinTimeUs,
                     kMaxTimeUs, printable(text)));
  }
  row.time_us = *time;
  if (columns.source) {
    row.source = record.fields[*columns.source];
  }
  row.zeros = row.source.ends_with(kZerosInProfiles);
  row.zeros_by_name = row.zeros && !columns.operands;
  if (columns.operands) {
    const std::string& operands = record.fields[*columns.operands];
    if (operands != "random" && operands != "zeros") {
      fail(file, record.line,
           fmt::format("operands must be random or zeros, not '{}'", printable(operands)));
    }
    row.zeros = operands == "zeros";
  }
  if (columns.b && !record.fields[*columns.b].empty()) {
    const std::string& b = record.fields[*columns.b];
    if (b != kZeroB) {
      fail(file, record.line,
           fmt::format("b must be '{}' or empty, not '{}'", kZeroB, printable(b)));
    }
    row.zeros = true;
    row.zeros_by_name = false;
  }
  return row;
}

}  // namespace

std::vector<Measurement> parse_measurements(std::string_view text, const std::string& file,
                                            bool sparse, std::vector<std::string>* ignored) {
  const std::vector<CsvRecord> records = parse_csv(text, file);
  constexpr std::string_view kNothing =
      "{}: no measurements; needed: a header with m, n, k, time_us_median, and rows";
  if (records.empty()) {
    throw InputError(fmt::format(kNothing, file));
  }
  const Columns columns = find_columns(records.front(), file);
  if (records.size() < 2) {
    throw InputError(fmt::format(kNothing, file));
  }
  if (ignored != nullptr) {
    add_ignored(records.front(), *ignored);
  }
  std::vector<Measurement> rows;
  rows.reserve(records.size() - 1);
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].fields.size() != records.front().fields.size()) {
      fail(file, records[i].line,
           fmt::format("{} fields, but the header has {}", records[i].fields.size(),
                       records.front().fields.size()));
    }
    require_scored(records[i], columns, file, sparse);
    rows.push_back(read_row(records[i], columns, file));
  }
  return rows;
}

std::vector<Measurement> read_measurements(const std::filesystem::path& path, bool sparse,
                                           std::vector<std::string>* ignored) {
  return parse_measurements(read_text_file(path, kMaxBytes), printable(path.string()), sparse,
                            ignored);
}

}  // namespace sptc::sim
