// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/config/text_file.h"
#include "sim/sweep/sweep_store.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace sptc::sim {
namespace {

using nlohmann::json;

std::string meta(Database& database, std::string_view key) {
  return database.value(fmt::format("SELECT value FROM sweep WHERE key = '{}'", key));
}

std::set<std::string> columns_of(Database& database) {
  std::set<std::string> names;
  Statement columns = database.prepare("SELECT name FROM pragma_table_info('points')");
  while (columns.step()) {
    names.emplace(columns.text(0));
  }
  return names;
}

/// One file to merge, standing at a row.
struct Part {
  std::string file;
  Database database;
  std::optional<Statement> rows;
  bool at_row = false;
};

/// The columns of the result in their order.
struct Layout {
  std::vector<std::string> columns;
  std::string create;

  explicit Layout(std::vector<Part>& parts) {
    columns = {"position", "hash", "status", "reason"};
    std::set<std::string> totals;
    for (Part& part : parts) {
      totals.merge(columns_of(part.database));
    }
    for (const char* name : {"position", "hash", "status", "reason", "result"}) {
      totals.erase(name);
    }
    create =
        "CREATE TABLE points(position INTEGER PRIMARY KEY, hash TEXT NOT NULL, status TEXT NOT "
        "NULL, reason TEXT, ";
    const json axes = json::parse(meta(parts.front().database, "axes"));
    for (const json& axis : axes) {
      columns.push_back(axis.get<std::string>());
      totals.erase(columns.back());
    }
    columns.insert(columns.end(), totals.begin(), totals.end());
    columns.emplace_back("result");
    for (std::size_t i = 4; i + 1 < columns.size(); ++i) {
      create += sql_name(columns[i]) + ", ";
    }
    create += "result TEXT)";
  }

  std::string select(Database& database) const {
    const std::set<std::string> present = columns_of(database);
    std::string list;
    for (const std::string& column : columns) {
      list += list.empty() ? "" : ", ";
      list += present.contains(column) ? sql_name(column) : "NULL";
    }
    return "SELECT " + list + " FROM points ORDER BY position";
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
  const bool a_done = a->rows->text(kStatus) == "done";
  const bool b_done = b->rows->text(kStatus) == "done";
  if (a_done && b_done && !same_row(*a->rows, *b->rows)) {
    throw InputError(fmt::format("{} and {} have different results for point {}", a->file, b->file,
                                 a->rows->integer(0)));
  }
  if (a_done != b_done) {
    return a_done ? a : b;
  }
  return a_done || a->rows->text(kReason) <= b->rows->text(kReason) ? a : b;
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

std::size_t copy_rows(std::vector<Part>& parts, Statement& insert) {
  std::size_t count = 0;
  while (true) {
    Part* chosen = nullptr;
    for (Part& part : parts) {
      if (!part.at_row) {
        continue;
      }
      if (chosen == nullptr || part.rows->integer(0) < chosen->rows->integer(0)) {
        chosen = &part;
      } else if (part.rows->integer(0) == chosen->rows->integer(0)) {
        chosen = better(chosen, &part);
      }
    }
    if (chosen == nullptr) {
      return count;
    }
    copy_row(*chosen->rows, insert);
    ++count;
    const std::int64_t position = chosen->rows->integer(0);
    for (Part& part : parts) {
      if (part.at_row && part.rows->integer(0) == position) {
        part.at_row = part.rows->step();
      }
    }
  }
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
  const Layout layout(parts);
  Database out(file, Database::Mode::kCreate);
  out.execute("PRAGMA journal_mode = OFF");
  out.execute("PRAGMA synchronous = OFF");  // the file has no name that matters yet
  out.execute("BEGIN");
  out.execute("PRAGMA user_version = 1");  // rows in order: see SweepStore::finish
  copy_meta(parts.front().database, out);
  out.execute(layout.create);
  std::string values = "?";
  for (std::size_t i = 1; i < layout.columns.size(); ++i) {
    values += ", ?";
  }
  Statement insert = out.prepare("INSERT INTO points VALUES(" + values + ")");
  for (Part& part : parts) {
    part.rows = part.database.prepare(layout.select(part.database));
    part.at_row = part.rows->step();
  }
  const std::size_t count = copy_rows(parts, insert);
  out.execute("COMMIT");
  return count;
}

void sync(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

}  // namespace

std::size_t merge_sweeps(std::span<const std::filesystem::path> files,
                         const std::filesystem::path& out, bool mixed_builds) {
  std::vector<Part> parts;
  for (const std::filesystem::path& file : files) {
    parts.push_back({printable(file.string()), open_sweep(file), std::nullopt});
  }
  require_same_sweep(parts, mixed_builds);
  const std::filesystem::path beside = out.string() + ".merging";
  std::error_code error;
  std::filesystem::remove(beside, error);
  std::size_t count = 0;
  try {
    count = write_merged(parts, beside);
    parts.clear();
    sync(beside);
  } catch (...) {
    parts.clear();
    std::filesystem::remove(beside, error);
    throw;
  }
  std::filesystem::rename(beside, out, error);
  if (error) {
    const std::string reason = error.message();
    std::filesystem::remove(beside, error);
    throw InputError(printable(out.string()) + ": cannot be written: " + reason);
  }
  return count;
}

}  // namespace sptc::sim
