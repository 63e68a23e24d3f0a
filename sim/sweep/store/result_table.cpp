// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/store/result_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sptc::sweep::store {

bool TableLayout::is_fixed(std::string_view name) const {
  const auto has = [&](const std::vector<Column>& columns) {
    return std::any_of(columns.begin(), columns.end(), [&](const Column& column) {
      return files::as_column(column.name) == files::as_column(name);
    });
  };
  return has(front) || has(end);
}

const TableLayout::Column* TableLayout::find(std::string_view name) const {
  for (const std::vector<Column>* const columns : {&front, &end}) {
    for (const Column& column : *columns) {
      if (column.name == name) {
        return &column;
      }
    }
  }
  return nullptr;
}

Cell TableLayout::cell(std::string_view name) const {
  const Column* const column = find(name);
  return column == nullptr ? figure : column->cell;
}

std::string_view TableLayout::declaration(std::string_view name) const {
  const Column* const column = find(name);
  return column == nullptr ? "" : column->declaration;
}

std::vector<std::string> TableLayout::columns(const std::set<std::string>& figures) const {
  std::vector<std::string> names;
  for (const Column& column : front) {
    names.push_back(column.name);
  }
  std::copy_if(figures.begin(), figures.end(), std::back_inserter(names),
               [&](const std::string& name) { return !is_fixed(name); });
  for (const Column& column : end) {
    names.push_back(column.name);
  }
  return names;
}

std::string TableLayout::create(const std::set<std::string>& figures) const {
  std::vector<std::string> parts;
  for (const std::string& name : columns(figures)) {
    parts.push_back(files::sql_name(name) + std::string(declaration(name)));
  }
  return fmt::format("CREATE TABLE {}({})", table, fmt::join(parts, ", "));
}

TableLayout points_layout(const std::vector<std::string>& axes) {
  TableLayout layout{"points",
                     {{"position", " INTEGER PRIMARY KEY", Cell::kIndex},
                      {"hash", " TEXT NOT NULL", Cell::kText},
                      {"status", " TEXT NOT NULL", Cell::kStatus},
                      {"reason", " TEXT", Cell::kTextOrNull}},
                     {{"notes", " TEXT", Cell::kTextOrNull}},
                     "total_",
                     Cell::kNumber};
  for (const std::string& axis : axes) {
    layout.front.push_back({axis, "", Cell::kValue});
  }
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
          {},
          "",
          Cell::kFigure};
}

std::set<std::string> columns_of(files::Database& database, const std::string& table) {
  std::set<std::string> names;
  files::Statement columns =
      database.prepare("SELECT name FROM pragma_table_info('" + table + "')");
  while (columns.step()) {
    names.emplace(columns.text(0));
  }
  return names;
}

std::string insert_sql(const std::string& table, std::span<const std::string> columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    names.push_back(files::sql_name(column));
  }
  return fmt::format("INSERT INTO {}({}) VALUES({})", table, fmt::join(names, ", "),
                     fmt::join(std::vector<std::string>(names.size(), "?"), ", "));
}

ResultTable::ResultTable(files::Database& database, TableLayout layout)
    : database_(database), layout_(std::move(layout)) {}

std::vector<std::string> ResultTable::columns_of(const point::PointFigures& figures) const {
  std::vector<std::string> names;
  std::string_view rest = figures.names();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string name(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    names.push_back(layout_.is_fixed(name) ? layout_.clash_prefix + name : name);
  }
  return names;
}

std::vector<std::string> ResultTable::missing(const point::PointFigures& figures) {
  if (parameters_of_names_.contains(figures.names())) {
    return {};
  }
  if (insert_ == nullptr) {
    prepare();
  }
  std::vector<std::string> names = columns_of(figures);
  std::erase_if(names, [&](const std::string& name) { return parameters_.contains(name); });
  return names;
}

void ResultTable::add_columns(const std::vector<std::string>& names) {
  insert_.reset();
  for (const std::string& name : names) {
    database_.execute("ALTER TABLE " + layout_.table + " ADD COLUMN " + files::sql_name(name));
  }
}

files::Statement& ResultTable::row(const point::PointFigures& figures) {
  if (insert_ == nullptr) {
    prepare();
  }
  const std::vector<int>& parameters = parameters_of(figures);
  insert_->clear();
  std::string_view bytes = figures.bytes();
  for (const int parameter : parameters) {
    std::visit([&](const auto& value) { insert_->bind(parameter, value); },
               point::PointFigures::take(bytes));
  }
  return *insert_;
}

const std::vector<int>& ResultTable::parameters_of(const point::PointFigures& figures) {
  const auto [found, added] = parameters_of_names_.try_emplace(figures.names());
  if (added) {
    for (const std::string& name : columns_of(figures)) {
      found->second.push_back(parameters_.at(name));
    }
  }
  return found->second;
}

void ResultTable::prepare() {
  parameters_.clear();
  parameters_of_names_.clear();
  std::vector<std::string> names;
  for (const auto* columns : {&layout_.front, &layout_.end}) {
    for (const TableLayout::Column& column : *columns) {
      names.push_back(column.name);
    }
  }
  for (const std::string& name : store::columns_of(database_, layout_.table)) {
    if (!layout_.is_fixed(name)) {
      names.push_back(name);
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    parameters_[names[i]] = static_cast<int>(i) + 1;
  }
  insert_ = std::make_unique<files::Statement>(database_.prepare(insert_sql(layout_.table, names)));
}

}  // namespace sptc::sweep::store
