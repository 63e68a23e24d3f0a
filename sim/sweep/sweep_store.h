// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/database.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/point.h"
#include "sim/sweep/results_file.h"

#include <unordered_set>

namespace sptc::sweep {

/// The sole right to write a file, until the object or the process ends. Creates the file.
class FileLock {
 public:
  /// Throws InputError where another process has it.
  explicit FileLock(const std::filesystem::path& file);
  ~FileLock();

  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  /// False where another process has it, or the name stands for another file by now.
  bool try_to_lock(const std::filesystem::path& file);

  int descriptor_;
};

/// The results of a sweep in one SQLite file:
///
///     sweep(key, value)    schema, name, version, build, digest, spec, axes, evidence, ...
///     points(position, hash, status, reason, <axes>, <totals>, notes)
///     operations(position, operation, variant, name, m, n, k, ..., <figures>)
///
/// The tables of rows come with the first row. While a sweep runs the file is in WAL mode and every add() is a
/// transaction. When all points are there it is rewritten in order, so that equal results are equal tables. One process
/// at a time writes: the file is locked. Everything throws InputError.
class SweepStore {
 public:
  struct Options {
    bool retry_failed = false;  ///< forget the rows of points that failed
    bool mixed_builds = false;  ///< go on with the rows of another build of the same version
  };

  /// Refuses the results of another sweep; one without any row gives way.
  SweepStore(const std::filesystem::path& file, const SweepPlan& plan, const Options& options);

  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  const std::filesystem::path& file() const { return file_; }
  bool has(std::uint64_t position) const { return finished_.contains(position); }
  std::size_t size() const { return finished_.size(); }
  std::size_t failures() const { return failures_; }

  /// Adds rows in one transaction: all or none.
  void add(std::span<const PointOutcome> outcomes);

  /// Rewrites the file in order. False where another program reads it and it stays as it is.
  bool finish();

 private:
  void create();
  void create_anew();
  bool has_rows();
  void verify(const SweepEntries& recorded, const Options& options);
  void begin_writing();
  void open_tables();
  void create_tables();
  void insert(const PointOutcome& outcome);

  std::filesystem::path file_;
  const SweepPlan& plan_;
  FileLock lock_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<ResultTable> points_, operations_;  ///< where the tables are there
  std::unordered_set<std::uint64_t> finished_;
  std::size_t failures_ = 0;
  bool wrote_ = false;
};

/// Unites parts of one sweep in `out`: rows in order of position, totals in order of name, the same
/// whatever the parts. A point that one part has done and another failed is done. Refuses parts of
/// different builds unless `mixed_builds`. Returns the number of rows.
std::size_t merge_sweeps(std::span<const std::filesystem::path> files, const std::filesystem::path& out,
                         bool mixed_builds);

}  // namespace sptc::sweep
