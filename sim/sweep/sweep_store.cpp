// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_store.h"

#include "models/base/error.h"
#include "sim/config/architecture.h"
#include "sim/config/text_file.h"
#include "sim/report/version.h"
#include "sim/sweep/digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace sptc::sim {
namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "sptcsim-sweep-results/0.1";

// user_version of a file whose rows merge_sweeps() has put in order.
constexpr std::string_view kOrdered = "1";

std::string json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Names of the axes, the columns before the totals.
json axis_names(const SweepSpec& spec) {
  json names = json::array();
  for (const SweepAxis& axis : spec.axes) {
    names.push_back(axis.name);
  }
  return names;
}

/// Pointers of the parameters that nobody has measured or cited, in any architecture of the sweep.
std::string assumed_parameters(const SweepSpec& spec) {
  std::set<std::string> pointers;
  for (const SweepArchitecture& architecture : spec.architectures) {
    for (const Parameter& parameter :
         to_architecture(architecture.document, architecture.name).parameters) {
      if (parameter.evidence == "assumed") {
        pointers.insert(parameter.pointer);
      }
    }
  }
  for (const SweepAxis& axis : spec.axes) {
    if (axis.kind == SweepAxis::Kind::kParameter) {
      pointers.erase(axis.target);  // what is varied is a question, not an assumption
    }
  }
  return fmt::format("{}", fmt::join(pointers, ", "));
}

void bind_json(Statement& statement, int parameter, const json& value) {
  if (value.is_string()) {
    statement.bind(parameter, std::string_view(value.get_ref<const std::string&>()));
  } else if (value.is_boolean()) {
    statement.bind(parameter, std::string_view(value.get<bool>() ? "true" : "false"));
  } else if (value.is_number_integer()) {
    statement.bind(parameter, value.get<std::int64_t>());
  } else if (value.is_number()) {
    statement.bind(parameter, value.get<double>());
  } else {
    statement.bind_null(parameter);
  }
}

}  // namespace

Database open_sweep(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    throw InputError(printable(file.string()) + ": no such file");
  }
  Database database(file, Database::Mode::kRead);
  if (database.value("SELECT count(*) FROM sqlite_master WHERE name IN ('sweep', 'points')") !=
          "2" ||
      database.value("SELECT value FROM sweep WHERE key = 'schema'") != kSchema) {
    throw InputError(printable(file.string()) + ": holds no results of a sweep");
  }
  return database;
}

FileLock::FileLock(const std::filesystem::path& file) {
  const std::string shown = printable(file.string());
  std::error_code error;
  const std::filesystem::path parent = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(parent, error)) {
    throw InputError(
        fmt::format("{}: there is no directory '{}'", shown, printable(parent.string())));
  }
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    throw InputError(fmt::format("{}: cannot be written: {}", shown, std::strerror(errno)));
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor_);
    throw InputError(fmt::format("{}: another sweep is writing to this file", shown));
  }
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

SweepStore::SweepStore(std::filesystem::path file, const SweepPlan& plan, const Options& options)
    : file_(std::move(file)), plan_(plan), lock_(file_) {
  database_ = std::make_unique<Database>(file_, Database::Mode::kWrite);
  if (database_->value("SELECT count(*) FROM sqlite_master") == "0") {
    create();
  } else {
    verify(options);
  }
}

void SweepStore::create() {
  begin_writing();
  database_->execute("BEGIN IMMEDIATE");
  database_->execute("CREATE TABLE sweep(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID");
  std::string columns;
  for (const SweepAxis& axis : plan_.spec().axes) {
    columns += sql_name(axis.name) + ", ";
  }
  database_->execute(
      "CREATE TABLE points(position INTEGER PRIMARY KEY, hash TEXT NOT NULL, status TEXT NOT NULL, "
      "reason TEXT, " +
      columns + "result TEXT)");
  Statement insert = database_->prepare("INSERT INTO sweep VALUES(?, ?)");
  const std::pair<std::string, std::string> rows[] = {
      {"schema", std::string(kSchema)},
      {"name", plan_.spec().name},
      {"version", std::string(program_version())},
      {"build", program_digest()},
      {"digest", plan_.digest()},
      {"spec", json_text(plan_.spec().document)},
      {"axes", json_text(axis_names(plan_.spec()))},
      {"assumed", assumed_parameters(plan_.spec())}};
  for (const auto& [key, value] : rows) {
    insert.bind(1, std::string_view(key));
    insert.bind(2, std::string_view(value));
    insert.step();
    insert.reset();
  }
  database_->execute("COMMIT");
}

void SweepStore::verify(const Options& options) {
  open_sweep(file_);
  const auto recorded = [&](const char* key) {
    return database_->value(fmt::format("SELECT value FROM sweep WHERE key = '{}'", key));
  };
  const std::string shown = printable(file_.string());
  if (recorded("version") != program_version()) {
    throw InputError(
        fmt::format("{}: holds results of version {}, and this is {}; give another file with --db",
                    shown, printable(recorded("version")), program_version()));
  }
  if (recorded("digest") != plan_.digest()) {
    throw InputError(fmt::format(
        "{}: holds results of another sweep ('{}'), or the spec, a workload or an architecture has "
        "changed since; give another file with --db",
        shown, printable(recorded("name"))));
  }
  if (recorded("build") != program_digest() && !options.mixed_builds) {
    throw InputError(fmt::format(
        "{}: was begun by another build of the program, whose results may differ; give another "
        "file with --db, or --mixed-builds to go on with this one",
        shown));
  }
  if (options.retry_failed) {
    begin_writing();
    database_->execute("DELETE FROM points WHERE status = 'failed'");
  }
  Statement rows = database_->prepare("SELECT position, status FROM points");
  while (rows.step()) {
    finished_.insert(static_cast<std::uint64_t>(rows.integer(0)));
    failures_ += rows.text(1) == "failed";
  }
}

void SweepStore::begin_writing() {
  if (wrote_) {
    return;
  }
  wrote_ = true;
  database_->execute("PRAGMA journal_mode = WAL");
  database_->execute("PRAGMA user_version = 0");
  // A commit survives the end of the process in any case; that of the machine costs the last ones.
  database_->execute("PRAGMA synchronous = NORMAL");
}

void SweepStore::prepare_insert() {
  insert_.reset();
  total_columns_.clear();
  columns_of_names_.clear();
  std::set<std::string> fixed = {"position", "hash", "status", "reason", "result"};
  for (const SweepAxis& axis : plan_.spec().axes) {
    fixed.insert(axis.name);
  }
  std::string names = "position, hash, status, reason";
  std::string values = "?, ?, ?, ?";
  int parameters = 4;
  for (const SweepAxis& axis : plan_.spec().axes) {
    names += ", " + sql_name(axis.name);
    values += ", ?";
    ++parameters;
  }
  names += ", result";
  values += ", ?";
  ++parameters;
  Statement columns = database_->prepare("SELECT name FROM pragma_table_info('points')");
  while (columns.step()) {
    const std::string name(columns.text(0));
    if (!fixed.contains(name)) {
      names += ", " + sql_name(name);
      values += ", ?";
      total_columns_[name] = ++parameters;
    }
  }
  insert_ = std::make_unique<Statement>(
      database_->prepare("INSERT INTO points(" + names + ") VALUES(" + values + ")"));
}

const std::vector<int>& SweepStore::columns_of(const PointFigures& figures) {
  if (insert_ == nullptr) {
    prepare_insert();
  }
  if (const auto found = columns_of_names_.find(figures.names());
      found != columns_of_names_.end()) {
    return found->second;
  }
  std::vector<std::string> names;
  std::string_view rest = figures.names();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string name(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    for (const SweepAxis& axis : plan_.spec().axes) {
      if (axis.name == name) {
        name = "total_" + name;
        break;
      }
    }
    if (!total_columns_.contains(name)) {
      insert_.reset();
      database_->execute("ALTER TABLE points ADD COLUMN " + sql_name(name));
      prepare_insert();
    }
    names.push_back(std::move(name));
  }
  std::vector<int>& columns = columns_of_names_[figures.names()];
  for (const std::string& name : names) {
    columns.push_back(total_columns_.at(name));
  }
  return columns;
}

void SweepStore::insert(const PointOutcome& outcome) {
  const SweepSpec& spec = plan_.spec();
  const std::vector<int>& columns = columns_of(outcome.totals);
  const std::string hash =
      outcome.hash.empty() ? plan_.hash(plan_.point(outcome.position)) : outcome.hash;
  insert_->clear();
  int parameter = 0;
  insert_->bind(++parameter, static_cast<std::int64_t>(outcome.position));
  insert_->bind(++parameter, std::string_view(hash));
  insert_->bind(++parameter, std::string_view(outcome.failed ? "failed" : "done"));
  const auto bind_unless_empty = [&](const std::string& text) {
    ++parameter;
    if (!text.empty()) {
      insert_->bind(parameter, std::string_view(text));
    }
  };
  bind_unless_empty(outcome.reason);
  for (std::size_t axis = 0; axis < spec.axes.size(); ++axis) {
    bind_json(*insert_, ++parameter, plan_.value(axis, outcome.position));
  }
  bind_unless_empty(outcome.result);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::visit([&](auto number) { insert_->bind(columns[i], number); },
               outcome.totals.numbers()[i]);
  }
  insert_->step();
  insert_->reset();
}

void SweepStore::add(std::span<const PointOutcome> outcomes) {
  begin_writing();
  try {
    database_->execute("BEGIN IMMEDIATE");
    for (const PointOutcome& outcome : outcomes) {
      insert(outcome);
    }
    database_->execute("COMMIT");
  } catch (const InputError&) {
    insert_.reset();
    try {
      database_->execute("ROLLBACK");
    } catch (const InputError&) {  // SQLite has rolled back already
    }
    throw;
  }
  for (const PointOutcome& outcome : outcomes) {
    finished_.insert(outcome.position);
    failures_ += outcome.failed;
  }
}

bool SweepStore::finish() {
  insert_.reset();
  if (database_->value("PRAGMA user_version") == kOrdered) {
    return true;
  }
  database_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
  // Leaving WAL mode needs the file for ourselves: a reader would go on with the log of the old
  // file.
  if (database_->value("PRAGMA journal_mode = DELETE") != "delete") {
    return false;
  }
  database_.reset();
  const std::filesystem::path parts[] = {file_};
  merge_sweeps(parts, file_, true);
  return true;
}

}  // namespace sptc::sim
