// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/database.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/point_runner.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sptc::sim {

/// The sole right to write a file, until the object or the process ends. Creates the file.
class FileLock {
 public:
  /// Throws InputError where another process has it.
  explicit FileLock(const std::filesystem::path& file);
  ~FileLock();

  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

/// The results of a sweep in one SQLite file:
///
///     sweep(key, value)    schema, name, version, build, digest, spec (JSON), axes (JSON)
///     points(position, hash, status, reason, <axes>, <totals>, result)
///
/// While a sweep runs the file is in WAL mode and every add() is a transaction. When all points are
/// there it is rewritten in order, so that equal results are equal bytes. One process at a time
/// writes: the file is locked. Everything throws InputError.
class SweepStore {
 public:
  struct Options {
    bool retry_failed = false;  ///< forget the rows of points that failed
    bool mixed_builds = false;  ///< go on with the rows of another build of the same version
  };

  /// Opens `file`, or creates it. Refuses the results of another sweep.
  SweepStore(std::filesystem::path file, const SweepPlan& plan, const Options& options);

  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  bool has(std::uint64_t position) const { return finished_.contains(position); }
  std::size_t size() const { return finished_.size(); }
  /// Of all rows.
  std::size_t failures() const { return failures_; }
  bool wrote() const { return wrote_; }

  /// Adds rows in one transaction: all or none.
  void add(std::span<const PointOutcome> outcomes);

  /// Rewrites the file in order. False where another program reads it and it stays as it is.
  bool finish();

 private:
  void create();
  void verify(const Options& options);
  void begin_writing();
  void prepare_insert();
  void insert(const PointOutcome& outcome);
  /// The parameter of the insert statement for each number; adds the columns that are missing.
  const std::vector<int>& columns_of(const PointFigures& figures);

  std::filesystem::path file_;
  const SweepPlan& plan_;
  FileLock lock_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Statement> insert_;
  std::map<std::string, int> total_columns_;  ///< parameter of the insert statement
  std::unordered_map<std::string, std::vector<int>> columns_of_names_;
  std::unordered_set<std::uint64_t> finished_;
  std::size_t failures_ = 0;
  bool wrote_ = false;
};

/// Unites the results of parts of one sweep in `out`, written beside it and renamed: rows in order
/// of position, columns of totals in order of name. The same rows give the same bytes, whatever the
/// parts. A point that one part has done and another failed is done. Refuses parts of different
/// sweeps, and of different builds unless `mixed_builds`. Returns the number of rows.
std::size_t merge_sweeps(std::span<const std::filesystem::path> parts,
                         const std::filesystem::path& out, bool mixed_builds);

/// Opens the results of a sweep for reading. Throws InputError where the file holds none.
Database open_sweep(const std::filesystem::path& file);

}  // namespace sptc::sim
