// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/database.h"

#include "models/base/text.h"
#include "sim/io/scratch_file.h"
#include "sim/io/text_file.h"

#include <cctype>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <sqlite3.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace sptc::sweep {
namespace {

constexpr int kBusyMilliseconds = 10000;
constexpr int kMaxCellBytes = 64 << 20;

[[noreturn]] void fail(const std::string& file, int code, const char* message) {
  constexpr std::pair<int, const char*> kProblems[] = {
      {SQLITE_FULL, "the disk is full"},
      {SQLITE_BUSY, "locked by another program"},
      {SQLITE_LOCKED, "locked by another program"},
      {SQLITE_CANTOPEN, "cannot be opened"},
      {SQLITE_READONLY, "cannot be written to"},
      {SQLITE_IOERR, "cannot be read or written (disk full, or a file size limit?)"}};
  const int kind = code & 0xFF;
  if (kind == SQLITE_NOTADB || kind == SQLITE_CORRUPT) {
    io::refuse("{}: no results of a sweep, or damaged: {}", file, message);
  }
  for (const auto& [of_kind, problem] : kProblems) {
    message = of_kind == kind ? problem : message;
  }
  io::refuse("{}: {}", file, message);
}

void require_bound(int code) {
  base::ensure(code == SQLITE_OK, "bind failed");
}

/// Refuses a `file` that is none, and what lies beside it that SQLite would play back, wait for or
/// follow: a journal with anything in it, where `written`, or with a page; a link; a pipe.
void require_nothing_half_done(const std::filesystem::path& file, bool written) {
  // Head and page are at least so long, and SQLite has four bytes before and after the page.
  constexpr std::uintmax_t kWithPage = 512 + 512 + 8;
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    io::refuse("{}: not a regular file", io::printable(file.string()));
  }
  for (const char* const end : {"-wal", "-shm"}) {
    size_beside(file, end);
  }
  if (size_beside(file, "-journal") >= (written ? 1 : kWithPage)) {
    io::refuse(
        "{}-journal: another program was ended as it wrote to {}, or writes to it now; no sweep leaves such a file",
        io::printable(file.string()), io::printable(file.filename().string()));
  }
}

/// A URI by which SQLite opens `file` as if nobody could write to it: it locks nothing.
std::string immutable_uri(const std::filesystem::path& file) {
  std::string uri = "file://";
  for (const char c : std::filesystem::absolute(file).string()) {
    const auto byte = static_cast<unsigned char>(c);
    uri += std::isalnum(byte) != 0 || c == '/' ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + "?immutable=1";
}

// Form of both files: sqlite.org/fileformat.html.
constexpr std::size_t kLogHead = 32;
constexpr std::size_t kReadVersion = 19;  // place in the head of a database
constexpr char kLogged = 2;               // its value where there is a log

/// The first bytes; fewer where the file is shorter, or not there.
std::string head_of(const std::filesystem::path& file) {
  std::string bytes(kLogHead, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), kLogHead);
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

std::filesystem::path log_of(const std::filesystem::path& file) {
  return file.string() + "-wal";
}

/// False where there is nothing in `from`, or no such file any more.
bool copy_bytes(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::ifstream in(from, std::ios::binary);
  if (in.peek() == std::ifstream::traits_type::eof()) {
    return false;
  }
  std::ofstream out(to, std::ios::binary | std::ios::trunc);
  if (!(out << in.rdbuf()) || !out.flush()) {
    io::refuse("{}: no room for a copy in {}", io::printable(from.string()), io::printable(to.parent_path().string()));
  }
  return true;
}

std::filesystem::path scratch_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return (error ? std::filesystem::path("/tmp") : folder) / "sptcsim-results";
}

/// Whether rows of the database `file` may be in its log alone.
bool has_log(const std::filesystem::path& file) {
  const std::string head = head_of(file);
  return head.size() > kReadVersion && head[kReadVersion] == kLogged && size_beside(file, "-wal") >= kLogHead;
}

}  // namespace

/// A copy of a database and of its log, which is there as long as this object.
class CopyWithLog {
 public:
  explicit CopyWithLog(const std::filesystem::path& file)
      : folder_(scratch_folder(), [](const char* name) { return ::mkdir(name, 0700); }),
        database_(folder_.path() / "results"),
        log_(log_of(database_.path())),
        index_(database_.path().string() + "-shm") {
    if (folder_.made() < 0) {
      io::refuse("{}: no room for a copy in {}: {}", io::printable(file.string()),
                 io::printable(folder_.path().parent_path().string()), std::strerror(folder_.error()));
    }
    const std::string head = head_of(log_of(file));
    // A log that began anew holds no longer what went from it into the file meanwhile.
    is_whole_ = copy_bytes(file, database_.path()) && copy_bytes(log_of(file), log_.path()) &&
                head_of(log_.path()) == head && head_of(log_of(file)) == head;
  }

  /// Whether it is one state of the database, though somebody wrote to it meanwhile.
  bool is_whole() const { return is_whole_; }
  const std::filesystem::path& path() const { return database_.path(); }

 private:
  io::ScratchFile folder_;
  io::ScratchFile database_, log_, index_;
  bool is_whole_ = false;
};

std::uintmax_t size_beside(const std::filesystem::path& file, std::string_view end) {
  const std::string beside = file.string() + std::string(end);
  struct stat found {};
  if (::lstat(beside.c_str(), &found) != 0) {
    return 0;
  }
  if (!S_ISREG(found.st_mode)) {
    io::refuse("{}: not a regular file", io::printable(beside));
  }
  if (found.st_nlink > 1) {
    io::refuse("{}: is a file that has another name, too", io::printable(beside));
  }
  return static_cast<std::uintmax_t>(found.st_size);
}

/// A file that is read.
class Source {
 public:
  explicit Source(const std::filesystem::path& file) : shown_(io::printable(file.string())), file_(file) {
    if (file_.descriptor < 0) {
      io::refuse("{}: cannot be opened", shown_);
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
      io::refuse("{}: changes faster than it can be read; repeat the command", shown_);
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
      io::refuse("{}: was written to while it was read; repeat the command", shown_);
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

void Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void Close::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3_stmt* statement, std::string file, std::shared_ptr<const Source> source)
    : source_(std::move(source)), statement_(statement), file_(std::move(file)) {}

void Statement::bind(int parameter, std::int64_t value) {
  require_bound(sqlite3_bind_int64(statement_.get(), parameter, value));
}
void Statement::bind(int parameter, double value) {
  require_bound(sqlite3_bind_double(statement_.get(), parameter, value));
}
void Statement::bind(int parameter, std::string_view value) {
  require_bound(
      sqlite3_bind_text64(statement_.get(), parameter, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8));
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

void Statement::execute() {
  step();
  reset();
}

void Statement::insert(const Statement& row) {
  for (int column = 0; column < row.columns(); ++column) {
    require_bound(sqlite3_bind_value(statement_.get(), column + 1, sqlite3_column_value(row.statement_.get(), column)));
  }
  execute();
}

int Statement::columns() const {
  return sqlite3_column_count(statement_.get());
}

Statement::Type Statement::type(int column) const {
  static_assert(static_cast<int>(Type::kInteger) == SQLITE_INTEGER && static_cast<int>(Type::kNull) == SQLITE_NULL);
  return static_cast<Type>(sqlite3_column_type(statement_.get(), column));
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

Database::Database(const std::filesystem::path& file, Mode mode) : file_(io::printable(file.string())) {
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
  for (const int off : {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_TRUSTED_SCHEMA}) {
    sqlite3_db_config(opened, off, 0, nullptr);
  }
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
    io::refuse("{}: cannot be written: SQLite makes no log beside it", file_);
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

}  // namespace sptc::sweep
