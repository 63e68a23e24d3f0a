// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/files/database.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <sqlite3.h>

namespace sptc::sweep::files {
namespace {

constexpr int kBusyMilliseconds = 10000;
constexpr int kMaxCellBytes = 64 << 20;

[[noreturn]] void fail(const std::string& file, int code, const char* message) {
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      throw base::InputError(
          fmt::format("{}: no results of a sweep, or damaged: {}", file, message));
    case SQLITE_FULL:
      throw base::InputError(fmt::format("{}: the disk is full", file));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw base::InputError(fmt::format("{}: locked by another program", file));
    case SQLITE_CANTOPEN:
      throw base::InputError(fmt::format("{}: cannot be opened", file));
    case SQLITE_READONLY:
      throw base::InputError(fmt::format("{}: cannot be written to", file));
    case SQLITE_IOERR:
      throw base::InputError(
          fmt::format("{}: cannot be read or written (disk full, or a file size limit?)", file));
    default:
      throw base::InputError(fmt::format("{}: {}", file, message));
  }
}

/// A pipe would be waited for: SQLite opens the file and, beside it, what a killed program left.
void require_regular(const std::filesystem::path& file) {
  for (const char* const end : {"", "-journal", "-wal"}) {
    const std::filesystem::path part = file.string() + end;
    std::error_code error;
    const auto status = std::filesystem::status(part, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      throw base::InputError(io::printable(part.string()) + ": not a regular file");
    }
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3_stmt* statement, std::string file)
    : statement_(statement), file_(std::move(file)) {}

void Statement::bind(int parameter, std::int64_t value) {
  base::ensure(sqlite3_bind_int64(statement_.get(), parameter, value) == SQLITE_OK, "bind failed");
}
void Statement::bind(int parameter, double value) {
  base::ensure(sqlite3_bind_double(statement_.get(), parameter, value) == SQLITE_OK, "bind failed");
}
void Statement::bind(int parameter, std::string_view value) {
  base::ensure(sqlite3_bind_text64(statement_.get(), parameter, value.data(), value.size(),
                                   SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK,
               "bind failed");
}
void Statement::bind_null(int parameter) {
  base::ensure(sqlite3_bind_null(statement_.get(), parameter) == SQLITE_OK, "bind failed");
}

void Statement::clear() {
  sqlite3_clear_bindings(statement_.get());
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code != SQLITE_DONE) {
    fail(file_, code, sqlite3_errmsg(sqlite3_db_handle(statement_.get())));
  }
  return false;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

int Statement::columns() const {
  return sqlite3_column_count(statement_.get());
}
std::string Statement::name(int column) const {
  return sqlite3_column_name(statement_.get(), column);
}

Statement::Type Statement::type(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_NULL:
      return Type::kNull;
    case SQLITE_INTEGER:
      return Type::kInteger;
    case SQLITE_FLOAT:
      return Type::kReal;
    case SQLITE_BLOB:
      return Type::kBlob;
    default:
      return Type::kText;
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}
std::string_view Statement::text(int column) const {
  const unsigned char* const bytes = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

Database::Database(const std::filesystem::path& file, Mode mode)
    : file_(io::printable(file.string())) {
  const int flags = mode == Mode::kRead    ? SQLITE_OPEN_READONLY
                    : mode == Mode::kWrite ? SQLITE_OPEN_READWRITE
                                           : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  require_regular(file);
  sqlite3* opened = nullptr;
  // A connection is used by one thread: no locks for each value.
  const int code = sqlite3_open_v2(file.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) {
    fail(file_, code, opened == nullptr ? "not enough memory" : sqlite3_errmsg(opened));
  }
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kMaxCellBytes);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Statement Database::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr);
  if (code != SQLITE_OK) {
    fail(file_, code, sqlite3_errmsg(database_.get()));
  }
  return Statement(statement, file_);
}

void Database::execute(const std::string& sql) {
  Statement statement = prepare(sql);
  while (statement.step()) {
  }
}

std::string Database::value(const std::string& sql) {
  Statement statement = prepare(sql);
  return statement.step() ? std::string(statement.text(0)) : std::string();
}

std::string sql_name(std::string_view name) {
  std::string result = "\"";
  for (const char c : name) {
    result += c == '"' ? "\"\"" : std::string(1, c);
  }
  return result + "\"";
}

std::string as_column(std::string_view name) {
  return base::lower_case(name);
}

}  // namespace sptc::sweep::files
