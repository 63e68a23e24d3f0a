// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/report/html_page.h"
#include "sim/sweep/analysis/cost_front.h"
#include "sim/sweep/execution/resimulation.h"
#include "sim/sweep/reports/sweep_report.h"
#include "sim/sweep/space/sweep_spec.h"

#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
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

/// `column` of `rows` alone, with the words that they have.
analysis::SweepColumn column_of(const analysis::SweepColumn& column,
                                const std::vector<std::size_t>& rows) {
  analysis::SweepColumn result{column.name, column.role, column.numeric, {}, {}, {}};
  std::unordered_map<std::int32_t, std::int32_t> places{{-1, -1}};
  for (const std::size_t row : rows) {
    if (column.numeric) {
      result.numbers.push_back(column.numbers[row]);
      continue;
    }
    const std::int32_t code = column.codes[row];
    const auto [place, added] =
        places.try_emplace(code, static_cast<std::int32_t>(result.words.size()));
    if (added) {
      result.words.push_back(column.words[static_cast<std::size_t>(code)]);
    }
    result.codes.push_back(place->second);
  }
  return result;
}

json column_json(const analysis::SweepTable& table, const analysis::SweepColumn& whole,
                 const std::vector<std::size_t>& rows) {
  const analysis::SweepColumn column = column_of(whole, rows);
  json result{
      {"name", column.name}, {"role", role_name(column.role)}, {"more", column.more_is_better()}};
  if (const auto [low, high] = analysis::range_of(table, whole); low != nullptr) {
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

/// What of a table a page holds.
struct PagePart {
  std::vector<std::size_t> rows;  ///< ascending
  std::vector<const analysis::SweepColumn*> columns;
};

/// Positions, axes, what the plot shows first, and the ranges of that.
std::vector<const analysis::SweepColumn*> main_columns(const analysis::SweepTable& table) {
  using Role = analysis::SweepColumn::Role;
  std::set<const analysis::SweepColumn*> totals{table.find_total("speedup")};
  for (const analysis::SweepColumn* objective : analysis::default_objectives(table)) {
    const auto [low, high] = analysis::range_of(table, *objective);
    totals.insert({objective, low, high});
  }
  std::vector<const analysis::SweepColumn*> columns;
  for (const analysis::SweepColumn& column : table.columns) {
    if (column.role != Role::kTotal || totals.contains(&column)) {
      columns.push_back(&column);
    }
  }
  return columns;
}

/// About `most` rows of the table: `needed`, and the others evenly.
std::vector<std::size_t> some_rows(const analysis::SweepTable& table,
                                   const std::set<std::size_t>& needed, std::size_t most) {
  const std::size_t others = table.rows - needed.size();
  const std::size_t kept = most > needed.size() ? std::min(most - needed.size(), others) : 0;
  std::vector<std::size_t> rows;
  std::size_t number = 0;  // of those that are not needed
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (needed.contains(row)) {
      rows.push_back(row);
    } else {
      // One where the share of those kept reaches the next whole number.
      if ((number + 1) * kept / others > number * kept / others) {
        rows.push_back(row);
      }
      ++number;
    }
  }
  return rows;
}

/// The part of a page as JSON. Rows have other numbers there.
class PageData {
 public:
  explicit PageData(const analysis::SweepTable& table) : table_(table) {
    const auto objectives = analysis::default_objectives(table);
    front_ = analysis::front_within_ranges(table, objectives);
    again_ = execution::simulated_again(table);
    for (const analysis::FrontRow& one : front_) {
      needed_.insert(one.row);
    }
    for (const execution::SimulatedAgain& one : again_) {
      needed_.insert(one.row);
    }
  }

  /// Of all rows and columns, or of those that make a page of a size that browsers and mail take:
  /// all rows on the front, some of the others, and the main columns.
  json fitting() const {
    constexpr std::size_t kMostBytes = 1'600'000;
    const auto size = [](const json& data) {
      return data.dump(-1, ' ', false, json::error_handler_t::replace).size();
    };
    PagePart part;
    for (const analysis::SweepColumn& column : table_.columns) {
      part.columns.push_back(&column);
    }
    part.rows = some_rows(table_, needed_, table_.rows);
    json data = of(part);
    std::size_t bytes = size(data);
    if (bytes > kMostBytes) {
      part.columns = main_columns(table_);
      data = of(part);
      bytes = size(data);
    }
    while (bytes > kMostBytes && part.rows.size() > needed_.size()) {
      const double share = 0.9 * static_cast<double>(kMostBytes) / static_cast<double>(bytes);
      const auto most = static_cast<std::size_t>(share * static_cast<double>(part.rows.size()));
      part.rows = some_rows(table_, needed_, most);
      data = of(part);
      bytes = size(data);
    }
    return data;
  }

 private:
  json of(const PagePart& part) const {
    std::unordered_map<std::size_t, std::size_t> place;
    for (const std::size_t row : part.rows) {
      place.emplace(row, place.size());
    }
    json data{{"rows", part.rows.size()},
              {"left", table_.columns.size() - part.columns.size()},
              {"columns", json::array()},
              {"front", json::array()},
              {"again", json::array()}};
    for (const analysis::SweepColumn* column : part.columns) {
      data["columns"].push_back(column_json(table_, *column, part.rows));
    }
    for (const analysis::FrontRow& one : front_) {
      data["front"].push_back({place.at(one.row), one.certain  ? "certain"
                                                  : one.stated ? "stated"
                                                               : "other"});
    }
    for (const execution::SimulatedAgain& one : again_) {
      data["again"].push_back({place.at(one.row), one.differs});
    }
    return data;
  }

  const analysis::SweepTable& table_;
  std::vector<analysis::FrontRow> front_;
  std::vector<execution::SimulatedAgain> again_;
  std::set<std::size_t> needed_;  ///< rows that every page holds
};

}  // namespace

std::string html_report(const analysis::SweepTable& table, const std::string& command) {
  const store::SweepEntries& entries = table.entries;
  const auto assumed = entries.texts.find("assumed");
  json data = PageData(table).fitting();
  data.update({{"name", entries.text("name")},
               {"description", entries.description},
               {"version", entries.text("version")},
               {"command", command},
               {"digest", entries.text("digest").substr(0, 12)},
               {"made_by", space::made_by(json::parse(entries.text("spec"), nullptr, false))},
               {"points", table.rows},
               {"failures", table.failures},
               {"missing", table.missing},
               {"assumed", assumed == entries.texts.end() ? "" : assumed->second},
               {"objectives", json::array()},
               {"sensitivities", json::array()}});
  for (const analysis::SweepColumn* objective : analysis::default_objectives(table)) {
    data["objectives"].push_back(objective->name);
  }
  for (const analysis::Sensitivity& one : analysis::sensitivities(table)) {
    data["sensitivities"].push_back(sensitivity_json(one));
  }
  return report::html_page(sweep_page(), data.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace sptc::sweep::reports
