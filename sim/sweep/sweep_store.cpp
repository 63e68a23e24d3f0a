// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_store.h"

#include "sim/io/text_file.h"
#include "sim/report/version.h"
#include "sim/sweep/cost_sets.h"

#include <fmt/ranges.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace sptc::sweep {
namespace {

using nlohmann::json;

/// Pointers of the parameters that nobody has measured or cited, in any architecture of the sweep.
std::string assumed_parameters(const SweepSpec& spec) {
  std::set<std::string> pointers;
  for (const config::DocumentedArchitecture& architecture : spec.architectures) {
    for (const config::Parameter& parameter : architecture.value.parameters) {
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
  } else {
    statement.bind(parameter, value.get<double>());
  }
}

std::uint64_t points_of(const SweepPlan& plan) {
  std::uint64_t points = 0;
  plan.for_each([&](std::uint64_t) {
    ++points;
    return true;
  });
  return points;
}

/// Nothing where the file is empty. It comes from anywhere: SQLite may not write to it before.
std::optional<SweepEntries> entries_of(const std::filesystem::path& file) {
  {
    Database results(file, Database::Mode::kRead);
    if (is_empty(results)) {
      return std::nullopt;
    }
  }
  Database results = open_sweep(file);
  return read_entries(results);
}

/// `file` behind links that its user made. A link among what a sweep writes beside it is refused.
std::filesystem::path without_links_beside(const std::filesystem::path& file) {
  std::filesystem::path behind = io::behind_link(file);
  for (const std::string of : {"", ".timing"}) {  // and what SystemC says again, until it is added
    for (const char* const end : {"", "-journal", "-wal", "-shm", ".run"}) {
      if (!of.empty() || *end != '\0') {
        size_beside(behind, of + end);
      }
    }
  }
  return behind;
}

/// Whether `descriptor` is open on the file that `file` names now.
bool is_named(int descriptor, const std::filesystem::path& file) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(file.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file) {
  const std::string shown = io::printable(file.string());
  std::error_code error;
  const std::filesystem::path parent = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(parent, error)) {
    io::refuse("{}: there is no directory '{}'", shown, io::printable(parent.string()));
  }
  // The workers of a sweep that was killed end a moment after it, and may hold its lock so long.
  constexpr std::chrono::milliseconds kPatience{2000};
  constexpr std::chrono::milliseconds kBetweenTries{20};
  const auto begin = std::chrono::steady_clock::now();
  while (!try_to_lock(file)) {
    if (std::chrono::steady_clock::now() - begin > kPatience) {
      io::refuse("{}: another sweep is writing to this file", shown);
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

bool FileLock::try_to_lock(const std::filesystem::path& file) {
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    io::refuse("{}: cannot be written: {}", io::printable(file.string()), std::strerror(errno));
  }
  // Who had the lock before may have put another file in the place of this one.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 && is_named(descriptor_, file)) {
    return true;
  }
  ::close(descriptor_);
  return false;
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

SweepStore::SweepStore(const std::filesystem::path& file, const SweepPlan& plan, const Options& options)
    : file_(without_links_beside(file)), plan_(plan), lock_(file_) {
  const std::optional<SweepEntries> recorded = entries_of(file_);
  database_ = std::make_unique<Database>(file_, Database::Mode::kWrite);
  if (recorded) {
    verify(*recorded, options);
  } else {
    create();
  }
}

void SweepStore::create() {
  const std::vector<std::string> evidence = evidence_lines(plan_.spec());
  begin_writing();
  database_->execute("BEGIN IMMEDIATE");
  write_entries(*database_, {{"schema", std::string(kResultsSchema)},
                             {"name", plan_.spec().name},
                             {"version", std::string(report::program_version())},
                             {"build", program_digest()},
                             {"digest", plan_.digest()},
                             {"points", std::to_string(points_of(plan_))},
                             {"spec", io::json_text(plan_.spec().document)},
                             {"axes", io::json_text(json(plan_.spec().axis_names()))},
                             {"assumed", assumed_parameters(plan_.spec())},
                             {"evidence", fmt::format("{}", fmt::join(evidence, "\n"))},
                             {"costs", io::json_text(to_json(cost_sets(plan_.spec())))}});
  database_->execute("COMMIT");
}

bool SweepStore::has_rows() {
  return !columns_of(*database_, "points").empty() && database_->value("SELECT EXISTS (SELECT * FROM points)") == "1";
}

void SweepStore::create_anew() {
  database_.reset();
  std::error_code ignored;
  std::filesystem::resize_file(file_, 0, ignored);  // the lock is on this very file
  database_ = std::make_unique<Database>(file_, Database::Mode::kWrite);
  create();
}

void SweepStore::verify(const SweepEntries& recorded, const Options& options) {
  const std::string shown = io::printable(file_.string());
  const bool is_this_sweep = recorded.text("version") == report::program_version() &&
                             recorded.text("digest") == plan_.digest() && recorded.text("build") == program_digest();
  if (!is_this_sweep && !has_rows()) {
    return create_anew();
  }
  if (recorded.text("version") != report::program_version()) {
    io::refuse("{}: holds results of version {}, and this is {}; give another file with --db", shown,
               io::printable(recorded.text("version")), report::program_version());
  }
  if (recorded.text("digest") != plan_.digest()) {
    io::refuse(
        "{}: holds results of another sweep ('{}'), or the spec, a workload, an architecture or a file that it or an "
        "option names has changed since; give another file with --db",
        shown, io::printable(recorded.text("name")));
  }
  if (recorded.text("build") != program_digest() && !options.mixed_builds) {
    io::refuse(
        "{}: was begun by another build of the program, whose results may differ; give another file with --db, or "
        "--mixed-builds to go on with this one",
        shown);
  }
  if (columns_of(*database_, "points").empty()) {
    return;  // ended before its first row
  }
  if (options.retry_failed) {
    begin_writing();
    database_->execute("BEGIN IMMEDIATE");
    database_->execute(
        "DELETE FROM operations WHERE position IN (SELECT position FROM points WHERE status = 'failed')");
    database_->execute("DELETE FROM points WHERE status = 'failed'");
    database_->execute("COMMIT");
  }
  constexpr int kStatus = 2;
  ResultRows rows(*database_, points_layout(recorded.axes));
  while (rows.step()) {
    finished_.insert(static_cast<std::uint64_t>(rows.position()));
    failures_ += rows.row().text(kStatus) == "failed";
  }
  open_tables();
}

void SweepStore::begin_writing() {
  if (wrote_) {
    return;
  }
  wrote_ = true;
  database_->begin_log();
  // A commit survives the end of the process in any case; that of the machine costs the last ones.
  database_->execute("PRAGMA synchronous = NORMAL");
  constexpr int kWalPages = 4096;  // then they go to the file, and the disk is waited for
  database_->execute(fmt::format("PRAGMA wal_autocheckpoint = {}", kWalPages));
  set_finished(*database_, false);
}

void SweepStore::open_tables() {
  points_ = std::make_unique<ResultTable>(*database_, points_layout(plan_.spec().axis_names()));
  operations_ = std::make_unique<ResultTable>(*database_, operations_layout());
}

void SweepStore::create_tables() {
  for (const TableLayout& layout : {points_layout(plan_.spec().axis_names()), operations_layout()}) {
    database_->execute(layout.create(layout.columns({})));
  }
  open_tables();
}

void SweepStore::insert(const PointOutcome& outcome) {
  const SweepSpec& spec = plan_.spec();
  const auto position = static_cast<std::int64_t>(outcome.position);
  const std::string hash = outcome.hash.empty() ? plan_.hash(plan_.point(outcome.position)) : outcome.hash;
  Statement& point = points_->row(outcome.totals);
  int parameter = 0;
  point.bind(++parameter, position);
  point.bind(++parameter, std::string_view(hash));
  point.bind(++parameter, std::string_view(outcome.failed ? "failed" : "done"));
  const auto bind_unless_empty = [&](const std::string& text) {
    ++parameter;
    if (!text.empty()) {
      point.bind(parameter, std::string_view(text));
    }
  };
  bind_unless_empty(outcome.reason);
  for (std::size_t axis = 0; axis < spec.axes.size(); ++axis) {
    bind_json(point, ++parameter, plan_.value(axis, outcome.position));
  }
  bind_unless_empty(outcome.notes);
  point.execute();
  for (const PointFigures& figures : outcome.operations) {
    Statement& operation = operations_->row(figures);
    operation.bind(1, position);
    operation.execute();
  }
}

void SweepStore::add(std::span<const PointOutcome> outcomes) {
  begin_writing();
  try {
    database_->execute("BEGIN IMMEDIATE");
    if (points_ == nullptr) {
      create_tables();
    }
    for (const PointOutcome& outcome : outcomes) {
      insert(outcome);
    }
    database_->execute("COMMIT");
  } catch (const base::InputError&) {
    points_.reset();
    operations_.reset();
    try {
      database_->execute("ROLLBACK");
    } catch (const base::InputError&) {  // SQLite has rolled back already
    }
    throw;
  }
  for (const PointOutcome& outcome : outcomes) {
    finished_.insert(outcome.position);
    failures_ += outcome.failed;
  }
}

bool SweepStore::finish() {
  if (is_finished(*database_)) {
    return database_->end_log();  // a sweep that was killed as it began to write had not
  }
  begin_writing();
  if (points_ == nullptr) {
    create_tables();
  }
  points_.reset();
  operations_.reset();
  database_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
  if (!database_->end_log()) {
    return false;
  }
  database_.reset();
  const std::filesystem::path parts[] = {file_};
  merge_sweeps(parts, file_, true);
  return true;
}

}  // namespace sptc::sweep
