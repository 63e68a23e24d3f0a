// SPDX-License-Identifier: Apache-2.0
#include "sim/report/html_page.h"
#include "sim/sweep/resimulation.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_table.h"

#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>

#include <algorithm>
#include <bit>

namespace sptc::sweep {

std::string_view sweep_page();

namespace {

using nlohmann::json;

constexpr const char* kRoles[] = {"position", "status", "reason", "axis", "total"};

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
    return json{{"bytes", sizeof(T)}, {"base64", base64(std::vector<T>(codes.begin(), codes.end()))}};
  };
  return count < 0xFF ? as(std::uint8_t{}) : count < 0xFFFF ? as(std::uint16_t{}) : as(std::uint32_t{});
}

/// The distinct numbers and which of them stands in each row; or all, where most are distinct.
void add_numbers(const std::vector<double>& numbers, json& result) {
  const std::size_t most = std::min<std::size_t>(0xFFFE, 16 + numbers.size() / 4);
  std::unordered_map<std::uint64_t, std::int32_t> found;
  std::vector<double> distinct;
  std::vector<std::int32_t> codes;
  for (const double number : numbers) {
    const auto [at, added] =
        found.try_emplace(std::bit_cast<std::uint64_t>(number), static_cast<std::int32_t>(distinct.size()));
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
SweepColumn column_of(const SweepColumn& column, const std::vector<std::size_t>& rows) {
  SweepColumn result{column.name, column.role, column.numeric, {}, {}};
  std::unordered_map<double, std::size_t> places;  // of words
  for (const std::size_t row : rows) {
    double number = column.numbers[row];
    if (!column.numeric && number >= 0) {
      const auto [place, added] = places.try_emplace(number, result.words.size());
      if (added) {
        result.words.push_back(column.words[static_cast<std::size_t>(number)]);
      }
      number = static_cast<double>(place->second);
    }
    result.numbers.push_back(number);
  }
  return result;
}

json column_json(const SweepTable& table, const SweepColumn& whole, const std::vector<std::size_t>& rows) {
  const SweepColumn column = column_of(whole, rows);
  json result{{"name", column.name},
              {"role", kRoles[static_cast<std::size_t>(column.role)]},
              {"more", column.more_is_better()}};
  if (const auto [low, high] = range_of(table, whole); low != nullptr) {
    result["low"] = low->name;
    result["high"] = high->name;
  }
  if (column.numeric) {
    add_numbers(column.numbers, result);
  } else {
    const std::vector<std::int32_t> codes(column.numbers.begin(), column.numbers.end());
    result["codes"] = codes_json(codes, column.words.size());
    result["words"] = column.words;
  }
  return result;
}

/// Positions, axes, what the plot shows first, and the ranges of that.
Columns main_columns(const SweepTable& table) {
  using Role = SweepColumn::Role;
  std::set<const SweepColumn*> totals{table.find_total("speedup")};
  for (const SweepColumn* objective : default_objectives(table)) {
    const auto [low, high] = range_of(table, *objective);
    totals.insert({objective, low, high});
  }
  Columns columns;
  for (const SweepColumn& column : table.columns) {
    if (column.role != Role::kTotal || totals.contains(&column)) {
      columns.push_back(&column);
    }
  }
  return columns;
}

/// About `most` rows of the table: `needed`, and the others evenly.
std::vector<std::size_t> some_rows(const SweepTable& table, const std::set<std::size_t>& needed, std::size_t most) {
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
  explicit PageData(const SweepTable& table) : table_(table) {
    const auto objectives = default_objectives(table);
    front_ = front_within_ranges(table, objectives);
    again_ = simulated_again(table);
    for (const FrontRow& one : front_) {
      needed_.insert(one.row);
    }
    for (const SimulatedAgain& one : again_) {
      needed_.insert(one.row);
    }
  }

  /// All rows and columns, or those that make a page of a size that browsers and mail take.
  json fitting() const {
    constexpr std::size_t kMostBytes = 1'600'000;
    Columns columns;
    for (const SweepColumn& column : table_.columns) {
      columns.push_back(&column);
    }
    std::vector<std::size_t> rows = some_rows(table_, needed_, table_.rows);
    for (bool has_all_columns = true;; has_all_columns = false) {
      json data = of(rows, columns);
      const std::size_t bytes = io::json_text(data).size();
      if (bytes <= kMostBytes || (!has_all_columns && rows.size() <= needed_.size())) {
        return data;
      }
      if (!has_all_columns) {
        const double share = 0.9 * static_cast<double>(kMostBytes) / static_cast<double>(bytes);
        rows = some_rows(table_, needed_, static_cast<std::size_t>(share * static_cast<double>(rows.size())));
      }
      columns = main_columns(table_);
    }
  }

 private:
  json of(const std::vector<std::size_t>& rows, const Columns& columns) const {
    std::unordered_map<std::size_t, std::size_t> place;
    for (const std::size_t row : rows) {
      place.emplace(row, place.size());
    }
    json data{{"rows", rows.size()},
              {"left", table_.columns.size() - columns.size()},
              {"columns", json::array()},
              {"front", json::array()},
              {"again", json::array()}};
    for (const SweepColumn* column : columns) {
      data["columns"].push_back(column_json(table_, *column, rows));
    }
    for (const FrontRow& one : front_) {
      data["front"].push_back({place.at(one.row), one.certain ? "certain" : one.stated ? "stated" : "other"});
    }
    for (const SimulatedAgain& one : again_) {
      data["again"].push_back({place.at(one.row), one.differs});
    }
    return data;
  }

  const SweepTable& table_;
  std::vector<FrontRow> front_;
  std::vector<SimulatedAgain> again_;
  std::set<std::size_t> needed_;  ///< rows that every page holds
};

}  // namespace

std::string html_report(const SweepTable& table, const std::string& command) {
  const SweepEntries& entries = table.entries;
  const auto text_of = [&](const char* key) {
    const auto found = entries.texts.find(key);
    return found == entries.texts.end() ? std::string() : found->second;
  };
  json data = PageData(table).fitting();
  data.update({{"name", entries.text("name")},
               {"description", entries.description},
               {"version", entries.text("version")},
               {"command", command},
               {"digest", entries.text("digest").substr(0, 12)},
               {"made_by", made_by(json::parse(entries.text("spec"), nullptr, false))},
               {"points", table.rows},
               {"failures", table.failures},
               {"missing", table.missing},
               {"assumed", text_of("assumed")},
               {"evidence", text_of("evidence")},
               {"objectives", json::array()},
               {"sensitivities", json::array()}});
  for (const SweepColumn* objective : default_objectives(table)) {
    data["objectives"].push_back(objective->name);
  }
  for (const Sensitivity& one : sensitivities(table)) {
    data["sensitivities"].push_back({{"axis", one.axis->name},
                                     {"figure", one.figure->name},
                                     {"groups", one.groups},
                                     {"typical", one.typical_ratio},
                                     {"largest", one.largest_ratio},
                                     {"best", one.best_value}});
  }
  return report::html_page(sweep_page(), io::json_text(data));
}

}  // namespace sptc::sweep
