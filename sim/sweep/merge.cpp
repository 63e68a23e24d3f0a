// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/config/text_file.h"
#include "sim/sweep/sweep_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <set>
#include <utility>

namespace sptc::sim {
namespace {

using nlohmann::json;

std::string meta(Database& database, std::string_view key) {
  return database.value(fmt::format("SELECT value FROM sweep WHERE key = '{}'", key));
}

/// One file to merge, standing at a point and at the first of its operations.
struct Part {
  std::string file;
  Database database;
  std::optional<Statement> points, operations;
  bool at_point = false, at_operation = false;

  std::int64_t position() const { return points->integer(0); }
  void next_point() { at_point = points->step(); }
  void next_operation() { at_operation = operations->step(); }
};

/// The columns of a table of the result in their order.
struct MergedTable {
  TableLayout layout;
  std::set<std::string> figures;

  MergedTable(TableLayout table, std::vector<Part>& parts) : layout(std::move(table)) {
    for (Part& part : parts) {
      figures.merge(columns_of(part.database, layout.table));
    }
  }

  /// All rows of a part in order; nothing where it has none.
  std::optional<Statement> select(Database& database) const {
    const std::set<std::string> present = columns_of(database, layout.table);
    if (present.empty()) {
      return std::nullopt;
    }
    std::vector<std::string> list;
    for (const std::string& column : layout.columns(figures)) {
      list.push_back(present.contains(column) ? sql_name(column) : "NULL");
    }
    // Rows of a table without key lie in the order of their insertion.
    const bool sorted =
        layout.front.front().declaration.ends_with("KEY") || row_order(database) != RowOrder::kAny;
    return database.prepare(fmt::format("SELECT {} FROM {} ORDER BY {}", fmt::join(list, ", "),
                                        layout.table, sorted ? "rowid" : "position, rowid"));
  }

  Statement insert(Database& out) const {
    out.execute(layout.create(figures));
    return out.prepare(insert_sql(layout.table, layout.columns(figures)));
  }
};

void require_same_sweep(std::vector<Part>& parts, bool mixed_builds) {
  Part& first = parts.front();
  for (Part& part : parts) {
    const auto same = [&](std::string_view key) {
      return meta(part.database, key) == meta(first.database, key);
    };
    if (!same("digest") || !same("version")) {
      throw InputError(fmt::format("{} and {} are not of one sweep", first.file, part.file));
    }
    if (!same("build") && !mixed_builds) {
      throw InputError(fmt::format(
          "{} and {} come from different builds of the program, whose results may differ; "
          "--mixed-builds merges them all the same",
          first.file, part.file));
    }
  }
}

bool same_row(const Statement& a, const Statement& b) {
  for (int column = 0; column < a.columns(); ++column) {
    if (a.type(column) != b.type(column) || a.text(column) != b.text(column)) {
      return false;
    }
  }
  return true;
}

/// Of two rows of one point the one that counts.
Part* better(Part* a, Part* b) {
  constexpr int kStatus = 2;
  constexpr int kReason = 3;
  const bool a_done = a->points->text(kStatus) == "done";
  const bool b_done = b->points->text(kStatus) == "done";
  if (a_done && b_done && !same_row(*a->points, *b->points)) {
    throw InputError(fmt::format("{} and {} have different results for point {}", a->file, b->file,
                                 a->points->integer(0)));
  }
  if (a_done != b_done) {
    return a_done ? a : b;
  }
  return a_done || a->points->text(kReason) <= b->points->text(kReason) ? a : b;
}

void copy_row(const Statement& from, Statement& to) {
  for (int column = 0; column < from.columns(); ++column) {
    switch (from.type(column)) {
      case Statement::Type::kNull:
        to.bind_null(column + 1);
        break;
      case Statement::Type::kInteger:
        to.bind(column + 1, from.integer(column));
        break;
      case Statement::Type::kReal:
        to.bind(column + 1, from.real(column));
        break;
      case Statement::Type::kText:
        to.bind(column + 1, from.text(column));
        break;
    }
  }
  to.step();
  to.reset();
}

/// The part whose row of the lowest position counts; null where no rows are left.
Part* choose(std::vector<Part>& parts) {
  Part* chosen = nullptr;
  for (Part& part : parts) {
    if (!part.at_point) {
      continue;
    }
    if (chosen == nullptr || part.position() < chosen->position()) {
      chosen = &part;
    } else if (part.position() == chosen->position()) {
      chosen = better(chosen, &part);
    }
  }
  return chosen;
}

std::size_t copy_rows(std::vector<Part>& parts, Statement& point, Statement& operation) {
  std::size_t count = 0;
  while (Part* const chosen = choose(parts)) {
    const std::int64_t position = chosen->position();
    copy_row(*chosen->points, point);
    ++count;
    for (Part& part : parts) {
      for (; part.at_operation && part.operations->integer(0) == position; part.next_operation()) {
        if (&part == chosen) {
          copy_row(*part.operations, operation);
        }
      }
      if (part.at_point && part.position() == position) {
        part.next_point();
      }
    }
  }
  return count;
}

void copy_meta(Database& from, Database& to) {
  to.execute("CREATE TABLE sweep(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID");
  Statement insert = to.prepare("INSERT INTO sweep VALUES(?, ?)");
  Statement rows = from.prepare("SELECT key, value FROM sweep ORDER BY key");
  while (rows.step()) {
    copy_row(rows, insert);
  }
}

std::size_t write_merged(std::vector<Part>& parts, const std::filesystem::path& file) {
  Database out(file, Database::Mode::kCreate);
  out.execute("PRAGMA journal_mode = OFF");
  out.execute("PRAGMA synchronous = OFF");  // the file has no name that matters yet
  out.execute("BEGIN");
  set_row_order(out, RowOrder::kFinished);
  copy_meta(parts.front().database, out);
  const MergedTable points(points_layout(json::parse(meta(parts.front().database, "axes"))), parts);
  const MergedTable operations(operations_layout(), parts);
  Statement point = points.insert(out);
  Statement operation = operations.insert(out);
  for (Part& part : parts) {
    part.points = points.select(part.database);
    part.operations = operations.select(part.database);
    if (part.points) {
      part.next_point();
      part.next_operation();
    }
  }
  const std::size_t count = copy_rows(parts, point, operation);
  out.execute("COMMIT");
  return count;
}

}  // namespace

std::size_t merge_sweeps(std::span<const std::filesystem::path> files,
                         const std::filesystem::path& out, bool mixed_builds) {
  std::vector<Part> parts;
  for (const std::filesystem::path& file : files) {
    parts.push_back({printable(file.string()), open_sweep(file), {}, {}});
  }
  require_same_sweep(parts, mixed_builds);
  const std::filesystem::path target = behind_link(out);
  const std::filesystem::path beside = target.string() + ".merging";
  std::error_code error;
  std::filesystem::remove(beside, error);
  std::size_t count = 0;
  try {
    count = write_merged(parts, beside);
    parts.clear();
    forget_history(beside, count);
  } catch (...) {
    parts.clear();
    std::filesystem::remove(beside, error);
    throw;
  }
  put_in_place(beside, target);
  return count;
}

}  // namespace sptc::sim
