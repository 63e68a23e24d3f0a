// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/files/database.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/sweep/files/write_ahead_log.h"

#include <fmt/format.h>

#include <cctype>
#include <fcntl.h>
#include <optional>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

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

/// Refuses a `file` that is none, and what lies beside it that SQLite would play back, wait for or
/// follow: a journal with anything in it, where `written`, or with a page; a link; a pipe.
void require_nothing_half_done(const std::filesystem::path& file, bool written) {
  // Head and page are at least so long, and SQLite has four bytes before and after the page.
  constexpr std::uintmax_t kWithPage = 512 + 512 + 8;
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw base::InputError(io::printable(file.string()) + ": not a regular file");
  }
  for (const char* const end : {"-wal", "-shm"}) {
    size_beside(file, end);
  }
  if (size_beside(file, "-journal") >= (written ? 1 : kWithPage)) {
    throw base::InputError(fmt::format(
        "{}-journal: another program was ended as it wrote to {}, or writes to it now; no sweep "
        "leaves such a file",
        io::printable(file.string()), io::printable(file.filename().string())));
  }
}

/// `file` as a URI by which SQLite opens it as if nobody could write to it: it looks at no other
/// file, and locks nothing.
std::string immutable_uri(const std::filesystem::path& file) {
  std::string uri = "file://";
  for (const char c : std::filesystem::absolute(file).string()) {
    const auto byte = static_cast<unsigned char>(c);
    uri += std::isalnum(byte) != 0 || c == '/' ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + "?immutable=1";
}

}  // namespace

/// A file that is read.
class Source {
 public:
  explicit Source(const std::filesystem::path& file)
      : shown_(io::printable(file.string())), file_(file) {
    if (file_.descriptor < 0) {
      throw base::InputError(fmt::format("{}: cannot be opened", shown_));
    }
    ::fstat(file_.descriptor, &seen_);
    constexpr int kTries = 20;
    for (int i = 0; i < kTries && has_log(file); ++i) {
      copy_.emplace(file);
      if (copy_->is_whole()) {
        return;
      }
      copy_.reset();
    }
    if (has_log(file)) {
      throw base::InputError(shown_ + ": changes faster than it can be read; repeat the command");
    }
  }

  /// A copy with its log, where rows are in that alone; null where the file has all of them.
  const CopyWithLog* copy() const { return copy_ ? &*copy_ : nullptr; }

  /// Throws InputError where somebody has written to the file since it was opened.
  void require_unchanged() const {
    struct stat now {};
    if (!copy_ && ::fstat(file_.descriptor, &now) == 0 &&
        (now.st_size != seen_.st_size || now.st_mtim.tv_sec != seen_.st_mtim.tv_sec ||
         now.st_mtim.tv_nsec != seen_.st_mtim.tv_nsec)) {
      throw base::InputError(
          fmt::format("{}: was written to while it was read; repeat the command", shown_));
    }
  }

 private:
  struct Open {
    explicit Open(const std::filesystem::path& file)
        : descriptor(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
    ~Open() { ::close(descriptor); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    int descriptor;
  };

  std::string shown_;
  Open file_;
  struct stat seen_ {};
  std::optional<CopyWithLog> copy_;
};

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3_stmt* statement, std::string file,
                     std::shared_ptr<const Source> source)
    : source_(std::move(source)), statement_(statement), file_(std::move(file)) {}

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
  if (source_ != nullptr) {
    source_->require_unchanged();
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
  const bool written = mode != Mode::kRead;
  const std::filesystem::path behind = io::behind_link(file);
  require_nothing_half_done(behind, written);
  std::string name = behind.string();
  int flags = SQLITE_OPEN_READWRITE | (mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0);
  if (!written) {
    source_ = std::make_shared<const Source>(behind);
    if (const CopyWithLog* const copy = source_->copy()) {
      name = copy->path().string();
    } else {
      name = immutable_uri(behind);
      flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    }
  }
  sqlite3* opened = nullptr;
  // A connection is used by one thread: no locks for each value.
  const int code = sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) {
    fail(file_, code, opened == nullptr ? "not enough memory" : sqlite3_errmsg(opened));
  }
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kMaxCellBytes);
  for (const int off : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                        SQLITE_DBCONFIG_TRUSTED_SCHEMA}) {
    sqlite3_db_config(opened, off, 0, nullptr);
  }
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
  return Statement(statement, file_, source_);
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

void Database::begin_log() {
  // One page is written to change over, which needs no journal: none is ever left beside the file.
  if (value("PRAGMA journal_mode") != "wal") {
    value("PRAGMA journal_mode = OFF");
  }
  if (value("PRAGMA journal_mode = WAL") != "wal") {
    throw base::InputError(file_ + ": cannot be written: SQLite makes no log beside it");
  }
}

bool Database::end_log() {
  return value("PRAGMA journal_mode = OFF") == "off";
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
