// SPDX-License-Identifier: Apache-2.0
#include "sim/report/validation_page.h"

#include "sim/report/html_page.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace sptc::report {
/// sim/report/validate.html.
std::string_view validate_html();

namespace {

using Json = nlohmann::ordered_json;
using check::times::Comparison;
using check::times::MeasuredLaunch;
using check::times::Validation;

/// Five digits: a page of thousands of rows stays small.
Json rounded(const std::optional<double>& value) {
  return value ? Json(std::stod(fmt::format("{:.5g}", *value))) : Json();
}

/// m, n, k, type, sparsity, measured us, simulated us, MHz, W, measured W, tile, conditions, source. The last two are
/// places in the lists that index() fills.
template <typename Index>
Json row_json(const Comparison& row, const Index& index) {
  const MeasuredLaunch& launch = row.measured.launch;
  const check::times::Prediction& simulated = row.simulated;
  const base::GemmShape& tile = simulated.cta_tile;
  return Json::array({launch.shape.m, launch.shape.n, launch.shape.k, kernels::name(launch.format()), launch.sparsity(),
                      rounded(row.measured.time_us), rounded(simulated.time_us), rounded(simulated.clock_mhz),
                      rounded(simulated.power_w), rounded(row.measured.power_w),
                      fmt::format("{}x{}x{}", tile.m, tile.n, tile.k), index("conditions", launch.conditions_text()),
                      index("sources", row.measured.source)});
}

std::string verdict_of(const Validation& validation) {
  const check::times::ErrorFigures& errors = validation.accuracy.errors;
  std::string verdict =
      fmt::format("Times are off by {:.1f} % on average (bias {:+.1f} %)", errors.mape_percent, errors.bias_percent);
  if (validation.speedup) {
    const check::times::SpeedupFigures& gain = validation.speedup->all;
    verdict += fmt::format(", gains of sparsity by {:.1f} %. The best constant gain is off by {:.1f} %",
                           gain.mean_error_percent, gain.constant_error_percent);
  }
  return verdict + ".";
}

}  // namespace

std::string validation_page(const Validation& validation, const std::string& command) {
  const check::times::ValidationHeader& header = validation.header;
  Json json{{"version", program_version()},
            {"command", command},
            {"name", fmt::format("{} on {}", header.measurements, header.arch)},
            {"verdict", verdict_of(validation)},
            {"made_by", header.made_by},
            {"clock", header.clock},
            {"kinds", Json::array()},
            {"conditions", Json::array()},
            {"sources", Json::array()},
            {"rows", Json::array()},
            {"notes", header.notes}};
  for (const check::times::AccuracyOfKind& kind : validation.accuracy.by) {
    json["kinds"].push_back(
        Json::array({numerics::name(kind.dtype), kind.sparsity, kind.errors.count, rounded(kind.errors.mape_percent),
                     rounded(kind.errors.bias_percent), rounded(kind.roofline_mape_percent)}));
  }
  std::map<std::string, std::map<std::string, std::size_t>> places;
  const auto index = [&](const char* list, const std::string& text) {
    const auto [place, added] = places[list].try_emplace(text, json[list].size());
    if (added) {
      json[list].push_back(text);
    }
    return place->second;
  };
  for (const Comparison& row : validation.rows) {
    Json cells = row_json(row, index);
    json["rows"].push_back(std::move(cells));
  }
  return html_page(validate_html(), json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace sptc::report
