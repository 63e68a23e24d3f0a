// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/run_result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

namespace sptc::report {

enum class ReportFormat { kText, kJson, kCsv };

/// "text", "json", "csv". Throws InputError with the nearest of them.
ReportFormat parse_report_format(std::string_view word);

/// A table of at most 120 columns: per operation dense above sparse, totals, checks, accuracy,
/// notes, assumptions.
std::string text_report(const run::RunResult& result);

/// One JSON object (schema "sptcsim-result/0.1"). What was not simulated is null; what this build
/// cannot compute is absent. Infinite errors (a NaN where a number belongs) are null.
std::string json_report(const run::RunResult& result);

/// Called with the keys that lead to a number of the object "totals" of json_report(), empty ones
/// left out, and the number: ("dense", "energy_uj", "total", 12.5).
using TotalsVisitor =
    std::function<void(std::string_view variant, std::string_view group, std::string_view key,
                       std::variant<std::int64_t, double> number)>;

/// Visits every number of "totals".
void visit_totals(const run::Totals& totals, const TotalsVisitor& visit);

/// Called with the keys that lead to a value of a variant of an operation in json_report(), an
/// empty group left out: ("kernel", "stages", 4).
using FigureValue = std::variant<std::int64_t, double, bool, std::string_view>;
using FigureVisitor =
    std::function<void(std::string_view group, std::string_view key, const FigureValue& value)>;

/// Visits every value of a variant but the first violation of a check and what explains energies.
void visit_variant(const run::VariantResult& variant, const FigureVisitor& visit);

/// RFC 4180 with a header row; one row per operation and variant.
std::string csv_report(const run::RunResult& result);

std::string report(const run::RunResult& result, ReportFormat format);

}  // namespace sptc::report
