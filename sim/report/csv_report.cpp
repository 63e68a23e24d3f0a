// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/io/csv.h"
#include "sim/report/report.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace sptc::report {
namespace {

/// A column that a figure of visit_variant() fills.
struct Column {
  std::string_view name, group, key;
};

// What follows each of them are columns of the operation.
constexpr std::array kFirst{
    Column{"cycles", "", "cycles"},           Column{"time_us", "", "time_us"},
    Column{"clock_mhz", "", "clock_mhz"},     Column{"tflops", "", "tflops"},
    Column{"utilization", "", "utilization"}, Column{"padding", "", "padding"},
    Column{"bound_by", "", "bound_by"}};
constexpr std::array kThen{Column{"check", "check", "mode"},
                           Column{"elements", "check", "elements"},
                           Column{"mismatches", "check", "mismatches"},
                           Column{"undecided", "check", "undecided"},
                           Column{"worst_error", "check", "worst_error"},
                           Column{"bound", "check", "bound"},
                           Column{"energy_uj", "energy_uj", "total"},
                           Column{"power_w", "", "power_w"},
                           Column{"peak_power_w", "", "peak_power_w"},
                           Column{"pj_per_flop", "", "pj_per_flop"}};

template <std::size_t kCount>
std::string cells(const std::array<Column, kCount>& columns, const run::VariantResult& variant) {
  std::array<std::string, kCount> texts;
  visit_variant(
      variant, [&](std::string_view group, std::string_view key, const FigureValue& value) {
        for (std::size_t i = 0; i < kCount; ++i) {
          if (columns[i].group == group && columns[i].key == key) {
            texts[i] = std::visit([](auto figure) { return fmt::format("{}", figure); }, value);
          }
        }
      });
  std::string row;
  for (std::size_t i = 0; i < kCount; ++i) {
    const bool unchecked = columns[i].name == "check" && texts[i].empty();
    row += (unchecked ? "none" : texts[i]) + ",";
  }
  return row;
}

template <std::size_t kCount>
std::string names(const std::array<Column, kCount>& columns) {
  std::string row;
  for (const Column& column : columns) {
    row += std::string(column.name) + ",";
  }
  return row;
}

std::string text_of(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "";
}

void append_row(const run::OperationResult& op, const char* name,
                const std::optional<run::VariantResult>& variant, std::string& out) {
  if (!variant) {
    return;
  }
  out += fmt::format("{},{},{},{},{},{},{},{},", io::csv_field(op.name), op.shape.m, op.shape.n,
                     op.shape.k, op.batch, op.count, numerics::name(op.dtype), name);
  out += cells(kFirst, *variant) + text_of(op.speedup()) + "," + cells(kThen, *variant);
  out += (variant->energy ? text_of(op.performance_per_watt_ratio()) : "") + "\r\n";
}

}  // namespace

std::string csv_report(const run::RunResult& result) {
  std::string out = "name,m,n,k,batch,count,dtype,variant," + names(kFirst) + "speedup," +
                    names(kThen) + "performance_per_watt_ratio\r\n";
  for (const run::OperationResult& op : result.operations) {
    append_row(op, "dense", op.dense, out);
    append_row(op, "sparse", op.sparse, out);
  }
  return out;
}

}  // namespace sptc::report
