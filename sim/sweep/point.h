// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/plan.h"

#include <variant>

namespace sptc::sweep {

/// Values by the names of their columns, in the order in which they were added. Kept as two runs of
/// bytes: a sweep carries millions of them from process to process.
class PointFigures {
 public:
  using Value = std::variant<std::int64_t, double, std::string_view>;

  PointFigures() = default;
  /// What names() and bytes() of another one returned.
  PointFigures(std::string names, std::string bytes) : names_(std::move(names)), bytes_(std::move(bytes)) {}

  /// `parts` of the name, those that are not empty joined by '_': {"dense", "time_us"}. Infinities
  /// and NaN are left out: SQL has no word for them.
  void add(std::initializer_list<std::string_view> parts, const Value& value);

  /// Each followed by a line feed. Points of one kind have equal ones.
  const std::string& names() const { return names_; }
  const std::string& bytes() const { return bytes_; }

  /// Takes the first value off `bytes`. Throws InternalError where there is no whole one.
  static Value take(std::string_view& bytes);

 private:
  std::string names_;
  std::string bytes_;
};

struct PointOutcome {
  std::uint64_t position = 0;
  bool failed = false;
  std::string reason;                         ///< why it failed; empty where it did not
  PointFigures totals;                        ///< of the run
  std::vector<PointFigures> operations = {};  ///< each operation and variant; empty: not kept
  std::string notes = {};                     ///< what a reader of the figures must know
  std::string hash = {};                      ///< SweepPlan::hash(), by whoever simulated the point; empty: not yet
};

PointOutcome failure(std::uint64_t position, const std::string& reason);

/// Puts an outcome as bytes behind those that are there.
void append_bytes(const PointOutcome& outcome, std::string& bytes);
/// Takes the first outcome off `bytes`; nothing where they do not begin with a whole one.
std::optional<PointOutcome> take_outcome(std::string_view& bytes);

/// Simulates points. The sweep knows nothing of a simulation but this.
class PointRunner {
 public:
  virtual ~PointRunner() = default;

  /// Whether SystemC simulates it: for long, and in a process that can be ended.
  virtual bool needs_process(const SweepPoint& point) const = 0;

  /// A guess, good enough to begin with the longest and to warn of a sweep that takes weeks.
  virtual double estimated_seconds(const SweepPlan& plan, const SweepPoint& point) const = 0;

  /// Throws InputError where the point cannot be simulated.
  virtual PointOutcome run(const SweepPlan& plan, const SweepPoint& point) = 0;
};

/// Simulates a point, with its hash. Whatever goes wrong is a failed outcome.
PointOutcome run_point(const SweepPlan& plan, PointRunner& runner, std::uint64_t position);

}  // namespace sptc::sweep
