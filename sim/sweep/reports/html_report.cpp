// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/reports/html_report.h"

#include "models/base/error.h"
#include "sim/report/html_page.h"
#include "sim/sweep/analysis/cost_front.h"
#include "sim/sweep/analysis/variance_share.h"
#include "sim/sweep/execution/resimulation.h"

#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sptc::sweep::reports {

/// sim/sweep/reports/report.html.
std::string_view sweep_page();

namespace {

using nlohmann::json;

const char* role_name(analysis::SweepColumn::Role role) {
  switch (role) {
    case analysis::SweepColumn::Role::kPosition:
      return "position";
    case analysis::SweepColumn::Role::kStatus:
      return "status";
    case analysis::SweepColumn::Role::kReason:
      return "reason";
    case analysis::SweepColumn::Role::kAxis:
      return "axis";
    case analysis::SweepColumn::Role::kTotal:
      break;
  }
  return "total";
}

/// Little-endian, as typed arrays of browsers have it.
template <typename T>
std::string base64(const std::vector<T>& values) {
  static_assert(std::endian::native == std::endian::little);
  using namespace boost::archive::iterators;
  using Digits = base64_from_binary<transform_width<const char*, 6, 8>>;
  const auto* const bytes = reinterpret_cast<const char*>(values.data());
  const std::size_t size = values.size() * sizeof(T);
  std::string text(Digits(bytes), Digits(bytes + size));
  return text.append((3 - size % 3) % 3, '=');
}

/// Numbers of the places in a list of `count` in as few bytes as they need; -1 is the highest.
json codes_json(const std::vector<std::int32_t>& codes, std::size_t count) {
  const auto as = [&]<typename T>(T) {
    return json{{"bytes", sizeof(T)},
                {"base64", base64(std::vector<T>(codes.begin(), codes.end()))}};
  };
  return count < 0xFF     ? as(std::uint8_t{})
         : count < 0xFFFF ? as(std::uint16_t{})
                          : as(std::uint32_t{});
}

/// The distinct numbers and which of them stands in each row; or all, where most are distinct.
void add_numbers(const std::vector<double>& numbers, json& result) {
  const std::size_t most = std::min<std::size_t>(0xFFFE, 16 + numbers.size() / 4);
  std::unordered_map<std::uint64_t, std::int32_t> found;
  std::vector<double> distinct;
  std::vector<std::int32_t> codes;
  for (const double number : numbers) {
    const auto [at, added] = found.try_emplace(std::bit_cast<std::uint64_t>(number),
                                               static_cast<std::int32_t>(distinct.size()));
    if (added) {
      distinct.push_back(number);
      if (distinct.size() > most) {
        result["numbers"] = base64(numbers);
        return;
      }
    }
    codes.push_back(at->second);
  }
  result["numbers"] = base64(distinct);
  result["codes"] = codes_json(codes, distinct.size());
}

json column_json(const analysis::SweepTable& table, const analysis::SweepColumn& column) {
  json result{
      {"name", column.name}, {"role", role_name(column.role)}, {"more", column.more_is_better()}};
  if (const auto [low, high] = analysis::range_of(table, column); low != nullptr) {
    result["low"] = low->name;
    result["high"] = high->name;
  }
  if (column.numeric) {
    add_numbers(column.numbers, result);
  } else {
    result["codes"] = codes_json(column.codes, column.words.size());
    result["words"] = column.words;
  }
  return result;
}

json sensitivity_json(const analysis::Sensitivity& one) {
  return {{"axis", one.axis->name},       {"figure", one.figure->name},   {"groups", one.groups},
          {"typical", one.typical_ratio}, {"largest", one.largest_ratio}, {"best", one.best_value}};
}

json share_json(const analysis::VarianceShare& one) {
  return {{"axis", one.axis->name}, {"figure", one.figure->name}, {"rows", one.rows},
          {"share", one.share},     {"ratio", one.ratio},         {"best", one.best_value}};
}

/// Rows on the front of the objectives, for some values of the constants: [row, how surely].
json front_json(const analysis::SweepTable& table) {
  json rows = json::array();
  for (const analysis::FrontRow& one :
       analysis::front_within_ranges(table, analysis::default_objectives(table))) {
    rows.push_back({one.row, one.certain ? "certain" : one.stated ? "stated" : "other"});
  }
  return rows;
}

/// Rows that SystemC simulated again: [row, whether it differs].
json again_json(const analysis::SweepTable& table) {
  json rows = json::array();
  for (const execution::SimulatedAgain& one : execution::simulated_again(table)) {
    rows.push_back({one.row, one.differs});
  }
  return rows;
}

}  // namespace

std::string html_report(const analysis::SweepTable& table, const std::string& command) {
  const store::SweepEntries& entries = table.entries;
  const auto assumed = entries.texts.find("assumed");
  json data{{"name", entries.text("name")},
            {"description", entries.description},
            {"version", entries.text("version")},
            {"command", command},
            {"digest", entries.text("digest").substr(0, 12)},
            {"rows", table.rows},
            {"failures", table.failures},
            {"missing", table.missing},
            {"assumed", assumed == entries.texts.end() ? "" : assumed->second},
            {"objectives", json::array()},
            {"columns", json::array()},
            {"sample", analysis::is_sample(table)},
            {"front", front_json(table)},
            {"again", again_json(table)},
            {"shares", json::array()},
            {"sensitivities", json::array()}};
  for (const analysis::SweepColumn* objective : analysis::default_objectives(table)) {
    data["objectives"].push_back(objective->name);
  }
  for (const analysis::SweepColumn& column : table.columns) {
    data["columns"].push_back(column_json(table, column));
  }
  for (const analysis::VarianceShare& one : analysis::variance_shares(table)) {
    data["shares"].push_back(share_json(one));
  }
  if (!analysis::is_sample(table)) {
    for (const analysis::Sensitivity& one : analysis::sensitivities(table)) {
      data["sensitivities"].push_back(sensitivity_json(one));
    }
  }
  return report::html_page(sweep_page(), data.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace sptc::sweep::reports
