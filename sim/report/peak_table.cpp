// SPDX-License-Identifier: Apache-2.0
#include "sim/report/peak_table.h"

#include "models/numerics/data_type.h"
#include "sim/report/words.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace sptc::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHead = "{:<12} {:>17}   {:>31}\n";
constexpr const char* kRow = "{:<6} {:<5} {:>8} {:>8}   {:>8} {:>6} {:>8} {:>6}   {}\n";

/// The rate `at_boost` at another clock; nothing where that is not known.
std::optional<double> at_clock(const run::BoardPeaks& board, std::optional<double> at_boost,
                               std::optional<double> mhz) {
  return at_boost && mhz ? std::optional(*at_boost * *mhz / board.boost_clock_mhz) : std::nullopt;
}

std::string or_dash(const std::optional<double>& rate) {
  return rate ? rate_text(*rate) : "-";
}

std::string mhz_text(const std::optional<double>& mhz) {
  return mhz ? fmt::format("{:.0f}", *mhz) : "-";
}

std::string row_text(const run::BoardPeaks& board, const run::Peak& peak) {
  const auto dense = at_clock(board, peak.dense_tflops, peak.dense_clock_mhz);
  const auto sparse = at_clock(board, peak.sparse_tflops, peak.sparse_clock_mhz);
  return fmt::format(kRow, kernels::name(peak.operands), numerics::name(peak.sums), rate_text(peak.dense_tflops),
                     or_dash(peak.sparse_tflops), or_dash(dense), mhz_text(peak.dense_clock_mhz), or_dash(sparse),
                     mhz_text(peak.sparse_clock_mhz),
                     rate_text(peak.printed_tflops()) + (peak.sparse_tflops ? ", with sparsity" : ""));
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

std::string rate_text(double tflops) {
  constexpr double kWhole = 100;
  return tflops < kWhole ? fmt::format("{:.3g}", tflops) : fmt::format("{:.0f}", tflops);
}

std::string peaks_text(const run::BoardPeaks& board) {
  const std::string limit = board.power_limit_w ? fmt::format("where {:g} W hold a large GEMM", *board.power_limit_w)
                                                : "no power limit is known";
  std::string text =
      fmt::format(kHead, "TFLOP/s", fmt::format("at {:.0f} MHz", board.boost_clock_mhz), limit) +
      fmt::format(kRow, "type", "sums", "dense", "2:4", "dense", "MHz", "2:4", "MHz", "the data sheet prints");
  for (const run::Peak& peak : board.peaks) {
    text += row_text(board, peak);
  }
  return text + wrapped(
                    "Of integers TOP/s. 2:4 counts the zeros that are skipped (tf32: 1:2, 4-bit types: "
                    "4:8); a data sheet prints it first, or alone, rounds it, and takes another clock for "
                    "some types. The GEMM is 8192 x 8192 x 8192 of random operands, in closed form.",
                    kTextWidth);
}

Json peaks_json(const run::BoardPeaks& board) {
  Json rows = Json::array();
  for (const run::Peak& peak : board.peaks) {
    const auto dense = at_clock(board, peak.dense_tflops, peak.dense_clock_mhz);
    const auto sparse = at_clock(board, peak.sparse_tflops, peak.sparse_clock_mhz);
    rows.push_back({{"type", kernels::name(peak.operands)},
                    {"sums", numerics::name(peak.sums)},
                    {"dense_tflops", peak.dense_tflops},
                    {"sparse_tflops", or_null(peak.sparse_tflops)},
                    {"at_power_limit",
                     {{"dense_tflops", or_null(dense)},
                      {"dense_clock_mhz", or_null(peak.dense_clock_mhz)},
                      {"sparse_tflops", or_null(sparse)},
                      {"sparse_clock_mhz", or_null(peak.sparse_clock_mhz)}}},
                    {"data_sheet_prints",
                     {{"tflops", peak.printed_tflops()}, {"with_sparsity", peak.sparse_tflops.has_value()}}}});
  }
  return rows;
}

}  // namespace sptc::report
