// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/result_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sptc::sweep {

bool TableLayout::is_fixed(std::string_view name) const {
  return std::any_of(fixed.begin(), fixed.end(), [&](const Column& column) {
    return as_column(column.name) == as_column(name);
  });
}

TableLayout::Column TableLayout::column(const std::string& name) const {
  const auto found = std::find_if(fixed.begin(), fixed.end(),
                                  [&](const Column& column) { return column.name == name; });
  return found == fixed.end() ? Column{name, "", figure} : *found;
}

std::vector<std::string> TableLayout::columns(const std::set<std::string>& figures) const {
  std::vector<std::string> names;
  for (const Column& column : fixed) {
    names.push_back(column.name);
  }
  std::vector<std::string> others;
  std::copy_if(figures.begin(), figures.end(), std::back_inserter(others),
               [&](const std::string& name) { return !is_fixed(name); });
  names.insert(names.begin() + static_cast<std::ptrdiff_t>(front), others.begin(), others.end());
  return names;
}

std::string TableLayout::create(const std::vector<std::string>& columns) const {
  std::vector<std::string> parts;
  for (const std::string& name : columns) {
    parts.push_back(sql_name(name) + std::string(column(name).declaration));
  }
  return fmt::format("CREATE TABLE {}({})", table, fmt::join(parts, ", "));
}

TableLayout points_layout(const std::vector<std::string>& axes) {
  TableLayout layout{"points",
                     {{"position", " INTEGER PRIMARY KEY", Cell::kIndex},
                      {"hash", " TEXT NOT NULL", Cell::kText},
                      {"status", " TEXT NOT NULL", Cell::kStatus},
                      {"reason", " TEXT", Cell::kTextOrNull}},
                     4 + axes.size(),
                     "total_",
                     Cell::kNumber};
  for (const std::string& axis : axes) {
    layout.fixed.push_back({axis, "", Cell::kValue});
  }
  layout.fixed.push_back({"notes", " TEXT", Cell::kTextOrNull});
  return layout;
}

TableLayout operations_layout() {
  return {"operations",
          {{"position", " INTEGER NOT NULL", Cell::kIndex},
           {"operation", " INTEGER NOT NULL", Cell::kIndex},
           {"variant", " TEXT NOT NULL", Cell::kText},
           {"name", "", Cell::kTextOrNull},
           {"m", "", Cell::kNumber},
           {"n", "", Cell::kNumber},
           {"k", "", Cell::kNumber},
           {"batch", "", Cell::kNumber},
           {"count", "", Cell::kNumber},
           {"dtype", "", Cell::kTextOrNull},
           {"prunable", "", Cell::kNumber}},
          11,
          "",
          Cell::kFigure};
}

std::set<std::string> columns_of(Database& database, const std::string& table) {
  std::set<std::string> names;
  Statement columns = database.prepare("SELECT name FROM pragma_table_info('" + table + "')");
  while (columns.step()) {
    names.emplace(columns.text(0));
  }
  return names;
}

std::string insert_sql(const std::string& table, std::span<const std::string> columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    names.push_back(sql_name(column));
  }
  return fmt::format("INSERT INTO {}({}) VALUES({})", table, fmt::join(names, ", "),
                     fmt::join(std::vector<std::string>(names.size(), "?"), ", "));
}

ResultTable::ResultTable(Database& database, TableLayout layout)
    : database_(database), layout_(std::move(layout)) {}

Statement& ResultTable::row(const PointFigures& figures) {
  const std::vector<int>& parameters = parameters_of(figures);
  insert_->clear();
  std::string_view bytes = figures.bytes();
  for (const int parameter : parameters) {
    std::visit([&](const auto& value) { insert_->bind(parameter, value); },
               PointFigures::take(bytes));
  }
  return *insert_;
}

const std::vector<int>& ResultTable::parameters_of(const PointFigures& figures) {
  if (const auto found = parameters_of_names_.find(figures.names());
      found != parameters_of_names_.end()) {
    return found->second;
  }
  std::vector<std::string> names;
  std::string_view rest = figures.names();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string name(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    names.push_back(layout_.is_fixed(name) ? layout_.clash_prefix + name : name);
  }
  if (insert_ == nullptr) {
    prepare();
  }
  bool is_new = false;
  for (const std::string& name : names) {
    if (!parameters_.contains(name)) {
      database_.execute("ALTER TABLE " + layout_.table + " ADD COLUMN " + sql_name(name));
      is_new = true;
    }
  }
  if (is_new) {
    prepare();
  }
  std::vector<int>& parameters = parameters_of_names_[figures.names()];
  for (const std::string& name : names) {
    parameters.push_back(parameters_.at(name));
  }
  return parameters;
}

void ResultTable::prepare() {
  parameters_.clear();
  parameters_of_names_.clear();
  std::vector<std::string> names;
  for (const TableLayout::Column& column : layout_.fixed) {
    names.push_back(column.name);
  }
  for (const std::string& name : columns_of(database_, layout_.table)) {
    if (!layout_.is_fixed(name)) {
      names.push_back(name);
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    parameters_[names[i]] = static_cast<int>(i) + 1;
  }
  insert_ = std::make_unique<Statement>(database_.prepare(insert_sql(layout_.table, names)));
}

}  // namespace sptc::sweep
