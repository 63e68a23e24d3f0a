// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace sptc::sweep::files {

/// A prepared SQL statement. Parameters and columns count from 1 and 0, as SQLite has it.
class Statement {
 public:
  enum class Type { kNull, kInteger, kReal, kText, kBlob };

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  /// The text must live until the statement was reset.
  void bind(int parameter, std::string_view value);
  void bind_null(int parameter);
  /// All parameters are NULL.
  void clear();

  /// The next row; false at the end.
  bool step();
  void reset();

  int columns() const;
  std::string name(int column) const;
  Type type(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;

 private:
  friend class Database;
  Statement(sqlite3_stmt* statement, std::string file);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string file_;
};

/// An SQLite file. Whatever SQLite refuses is an InputError that names the file and says why: no
/// database, a full disk, another program's lock. Triggers in the file do not run.
class Database {
 public:
  enum class Mode { kRead, kWrite, kCreate };
  Database(const std::filesystem::path& file, Mode mode);

  /// Its name for messages.
  const std::string& file() const { return file_; }

  Statement prepare(const std::string& sql);
  void execute(const std::string& sql);
  /// The first column of the first row as text; empty where there is none.
  std::string value(const std::string& sql);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::string file_;
  std::unique_ptr<sqlite3, Close> database_;
};

/// `name` as an identifier of SQL.
std::string sql_name(std::string_view name);

/// `name` in lower case: the same for all names that SQLite takes for one column.
std::string as_column(std::string_view name);

}  // namespace sptc::sweep::files
