// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/results_file.h"

#include "sim/io/file_use.h"
#include "sim/io/text_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>

namespace sptc::sweep {
namespace {

using nlohmann::json;

template <typename... Args>
[[noreturn]] void refuse_file(const std::string& file, fmt::format_string<Args...> problem, Args&&... args) {
  io::refuse("{}: damaged results of a sweep: {}", file, fmt::format(problem, std::forward<Args>(args)...));
}

constexpr std::string_view kSweepTable = "CREATE TABLE sweep(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID";

/// The statement of each table. A view, a trigger, an index or another table is refused: it would run.
std::map<std::string, std::string> tables_of(Database& results) {
  std::map<std::string, std::string> tables;
  std::string other;
  Statement rows = results.prepare("SELECT type, name, tbl_name, sql FROM sqlite_master");
  while (rows.step()) {
    const std::string name(rows.text(1));
    const bool known = name == "sweep" || name == "points" || name == "operations";
    if (!known || rows.text(0) != "table" || rows.text(2) != name || !tables.emplace(name, rows.text(3)).second) {
      other =
          fmt::format("its {} '{}' is none of the tables of a sweep", io::printable(rows.text(0)), io::printable(name));
    }
  }
  if (!tables.contains("sweep")) {
    io::refuse("{}: holds no results of a sweep", results.file());
  }
  if (!other.empty()) {
    refuse_file(results.file(), "{}", other);
  }
  return tables;
}

/// Refuses a table that anything but TableLayout::create() and columns added later have made.
void check_declaration(Database& results, const TableLayout& layout, const std::string& statement) {
  Statement columns = results.prepare("SELECT name FROM pragma_table_info('" + layout.table + "') ORDER BY cid");
  std::vector<std::string> names;
  while (columns.step()) {
    names.emplace_back(columns.text(0));
  }
  for (const TableLayout::Column& column : layout.fixed) {
    if (std::ranges::count(names, column.name) == 0) {
      refuse_file(results.file(), "table '{}' has no column '{}'", layout.table, io::printable(column.name));
    }
  }
  if (statement != layout.create(names)) {
    refuse_file(results.file(), "table '{}' is not declared as a sweep declares it", layout.table);
  }
}

json parsed(const Database& results, const SweepEntries& entries, const std::string& key) {
  json value = json::parse(entries.text(key), nullptr, false);
  if (value.is_discarded()) {
    refuse_file(results.file(), "its entry '{}' is no JSON", key);
  }
  return value;
}

std::string description_of(const Database& results, const SweepEntries& entries) {
  const json spec = parsed(results, entries, "spec");
  if (!spec.is_object()) {
    refuse_file(results.file(), "its entry 'spec' is no JSON object");
  }
  const auto description = spec.find("description");
  if (description == spec.end()) {
    return {};
  }
  if (!description->is_string()) {
    refuse_file(results.file(), "the 'description' in its entry 'spec' is no text");
  }
  return description->get<std::string>();
}

/// Names that can be columns beside the others of `points`.
std::vector<std::string> axes_of(const Database& results, const SweepEntries& entries) {
  const json list = parsed(results, entries, "axes");
  const TableLayout without_axes = points_layout({});
  std::set<std::string> columns;
  const bool good = list.is_array() && std::ranges::all_of(list, [&](const json& name) {
                      return name.is_string() && !without_axes.is_fixed(name.get_ref<const std::string&>()) &&
                             columns.insert(as_column(name.get_ref<const std::string&>())).second;
                    });
  if (!good) {
    refuse_file(results.file(), "its entry 'axes' is no list of the names of columns");
  }
  return list.get<std::vector<std::string>>();
}

std::uint64_t points_of(const Database& results, const SweepEntries& entries) {
  const std::string& text = entries.text("points");
  std::uint64_t points = 0;
  if (!io::parse_whole(text, points)) {
    refuse_file(results.file(), "its entry 'points' is no number of points");
  }
  return points;
}

/// What is expected, in the order of Cell.
constexpr const char* kExpected[] = {
    "a whole number from 0", "'done' or 'failed'",        "text", "text", "a value of an axis",
    "a finite number",       "a figure like those before"};

}  // namespace

Database open_sweep(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    io::refuse("{}: no such file", io::printable(file.string()));
  }
  io::announce_input(file);
  Database results(file, Database::Mode::kRead);
  const std::map<std::string, std::string> tables = tables_of(results);
  if (tables.at("sweep") != kSweepTable) {
    refuse_file(results.file(), "table 'sweep' is not declared as a sweep declares it");
  }
  const std::string schema = results.value("SELECT value FROM sweep WHERE key = 'schema'");
  if (schema != kResultsSchema) {
    io::refuse("{}: holds results in the format '{}', and this program knows '{}'", results.file(),
               io::printable(schema), kResultsSchema);
  }
  const SweepEntries entries = read_entries(results);
  const bool has_points = tables.contains("points");
  if (has_points != tables.contains("operations")) {
    refuse_file(results.file(), "table '{}' is missing, and there is '{}'", has_points ? "operations" : "points",
                has_points ? "points" : "operations");
  }
  if (has_points) {
    for (const TableLayout& layout : {points_layout(entries.axes), operations_layout()}) {
      check_declaration(results, layout, tables.at(layout.table));
    }
  }
  return results;
}

bool is_empty(Database& results) {
  return results.value("SELECT count(*) FROM sqlite_master") == "0";
}

std::size_t SweepEntries::missing(std::size_t rows) const {
  return points > rows ? points - rows : 0;
}

SweepEntries read_entries(Database& results) {
  SweepEntries entries;
  Statement rows = results.prepare("SELECT key, value FROM sweep");
  while (rows.step()) {
    const bool good = rows.type(0) == Statement::Type::kText && rows.type(1) == Statement::Type::kText &&
                      entries.texts.emplace(rows.text(0), rows.text(1)).second;
    if (!good) {
      refuse_file(results.file(), "an entry of its table 'sweep' is no text, or there twice");
    }
  }
  for (const char* const key : {"schema", "name", "version", "build", "digest", "points", "spec", "axes"}) {
    if (!entries.texts.contains(key)) {
      refuse_file(results.file(), "its table 'sweep' has no entry '{}'", key);
    }
  }
  entries.description = description_of(results, entries);
  entries.axes = axes_of(results, entries);
  entries.points = points_of(results, entries);
  return entries;
}

void write_entries(Database& results, const std::map<std::string, std::string>& texts) {
  results.execute(std::string(kSweepTable));
  Statement insert = results.prepare("INSERT INTO sweep VALUES(?, ?)");
  for (const auto& [key, value] : texts) {
    insert.bind(1, std::string_view(key));
    insert.bind(2, std::string_view(value));
    insert.execute();
  }
}

ResultRows::ResultRows(Database& results, const TableLayout& layout, const std::set<std::string>& figures)
    : file_(results.file()),
      table_(layout.table),
      one_per_position_(layout.fixed.front().declaration.ends_with("KEY")),
      columns_(layout.columns(figures)),
      has_text_(columns_.size()),
      has_number_(columns_.size()) {
  const std::set<std::string> present = columns_of(results, table_);
  if (present.empty()) {
    return;
  }
  std::vector<std::string> list;
  for (const std::string& column : columns_) {
    const bool there = present.contains(column);
    list.push_back(there ? sql_name(column) : "NULL");
    cells_.push_back(layout.column(column).cell);
  }
  // Rows of a table without key lie in the order of their insertion.
  const char* const order = one_per_position_ ? "position" : is_finished(results) ? "rowid" : "position, rowid";
  statement_ = results.prepare(fmt::format("SELECT {} FROM {} ORDER BY {}", fmt::join(list, ", "), table_, order));
}

ResultRows::ResultRows(Database& results, const TableLayout& layout)
    : ResultRows(results, layout, columns_of(results, layout.table)) {}

bool ResultRows::step() {
  if (!statement_ || !statement_->step()) {
    return false;
  }
  for (int column = 0; column < statement_->columns(); ++column) {
    check_cell(column);
  }
  check_order();
  return true;
}

void ResultRows::refuse(const std::string& problem) const {
  refuse_file(file_, "table '{}', position {}: {}", table_, io::printable(statement_->text(0)), problem);
}

void ResultRows::check_order() {
  if (last_ && (position() < *last_ || (one_per_position_ && position() == *last_))) {
    refuse(fmt::format("comes after position {}", *last_));
  }
  last_ = position();
}

void ResultRows::check_cell(int column) {
  using Type = Statement::Type;
  const auto at = static_cast<std::size_t>(column);
  const Type type = statement_->type(column);
  const bool nothing = type == Type::kNull;
  const bool text = type == Type::kText;
  const bool number = type == Type::kInteger || (type == Type::kReal && std::isfinite(statement_->real(column)));
  const auto is_good = [&] {
    switch (cells_[at]) {
      case Cell::kIndex:
        return type == Type::kInteger && statement_->integer(column) >= 0;
      case Cell::kStatus:
        return text && (statement_->text(column) == "done" || statement_->text(column) == "failed");
      case Cell::kText:
        return text;
      case Cell::kTextOrNull:
        return text || nothing;
      case Cell::kValue:
        return text || number;
      case Cell::kNumber:
        return number || nothing;
      case Cell::kFigure:
        break;
    }
    has_text_[at] = has_text_[at] || text;
    has_number_[at] = has_number_[at] || number;
    return (text || number || nothing) && !(has_text_[at] && has_number_[at]);
  };
  if (!is_good()) {
    refuse(fmt::format("'{}' is not {}", io::printable(columns_[at]), kExpected[static_cast<std::size_t>(cells_[at])]));
  }
}

bool is_finished(Database& database) {
  return database.value("PRAGMA user_version") == "1";
}

void set_finished(Database& database, bool finished) {
  database.execute(fmt::format("PRAGMA user_version = {}", finished ? 1 : 0));
}

bool TableLayout::is_fixed(std::string_view name) const {
  return std::ranges::any_of(fixed, [&](const Column& column) { return as_column(column.name) == as_column(name); });
}

TableLayout::Column TableLayout::column(const std::string& name) const {
  const auto found = std::ranges::find_if(fixed, [&](const Column& column) { return column.name == name; });
  return found == fixed.end() ? Column{name, "", figure} : *found;
}

std::vector<std::string> TableLayout::columns(const std::set<std::string>& figures) const {
  const auto of_fixed = std::views::transform(fixed, &Column::name);
  std::vector<std::string> names(of_fixed.begin(), of_fixed.end());
  std::vector<std::string> others;
  std::ranges::copy_if(figures, std::back_inserter(others), [&](const std::string& name) { return !is_fixed(name); });
  names.insert(names.begin() + static_cast<std::ptrdiff_t>(front), others.begin(), others.end());
  return names;
}

std::string TableLayout::create(const std::vector<std::string>& columns) const {
  const auto declared = [&](const std::string& name) { return sql_name(name) + std::string(column(name).declaration); };
  return fmt::format("CREATE TABLE {}({})", table, fmt::join(std::views::transform(columns, declared), ", "));
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
  return fmt::format("INSERT INTO {}({}) VALUES({})", table, fmt::join(std::views::transform(columns, sql_name), ", "),
                     fmt::join(std::vector<std::string>(columns.size(), "?"), ", "));
}

ResultTable::ResultTable(Database& database, TableLayout layout) : database_(database), layout_(std::move(layout)) {}

Statement& ResultTable::row(const PointFigures& figures) {
  const std::vector<int>& parameters = parameters_of(figures);
  insert_->clear();
  std::string_view bytes = figures.bytes();
  for (const int parameter : parameters) {
    std::visit([&](const auto& value) { insert_->bind(parameter, value); }, PointFigures::take(bytes));
  }
  return *insert_;
}

const std::vector<int>& ResultTable::parameters_of(const PointFigures& figures) {
  if (const auto found = parameters_of_names_.find(figures.names()); found != parameters_of_names_.end()) {
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
  const auto fixed = std::views::transform(layout_.fixed, &TableLayout::Column::name);
  std::vector<std::string> names(fixed.begin(), fixed.end());
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
