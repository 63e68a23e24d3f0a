// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/condition.h"
#include "sim/sweep/sweep_spec.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::sweep {

/// One point of a sweep: what to simulate.
struct SweepPoint {
  std::uint64_t position = 0;  ///< in the product of all axes: its identity within the sweep
  std::size_t workload = 0;
  std::size_t architecture = 0;
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  ///< axis and value of each
  std::map<std::string, std::string> options;                   ///< without "--"
};

/// The points of a sweep, computed when asked for: a plan of a million points takes no more memory
/// than its axes.
class SweepPlan {
 public:
  /// Reads the files that options name, for the hashes. Throws InputError where one cannot be read,
  /// for conditions that are no expression, and for products of more than 10^8 points without a
  /// sample.
  explicit SweepPlan(SweepSpec spec);

  const SweepSpec& spec() const { return spec_; }

  /// Positions of the product, conditions and sample not considered.
  std::uint64_t product() const { return product_; }

  /// Calls `visit` with the position of every point: of those that satisfy all conditions, all in
  /// ascending order, or a seeded sample in the order of drawing. False ends it.
  void for_each(const std::function<bool(std::uint64_t position)>& visit) const;

  SweepPoint point(std::uint64_t position) const;

  /// The value of axis `axis` at `position`.
  const nlohmann::json& value(std::size_t axis, std::uint64_t position) const;

  /// 32 hexadecimal digits over all that the point depends on: architecture after derivation,
  /// workload, options, content of the files that they name, seed and version. They are equal if
  /// and only if the same thing is simulated.
  std::string hash(const SweepPoint& point) const;

  /// Of everything that the points depend on. Equal digests: the same positions mean the same
  /// points.
  std::string digest() const;

 private:
  /// What hash() hashes of an architecture: a value of an axis (none in the first piece), then text
  /// that all points share.
  struct HashedText {
    std::optional<std::size_t> axis;
    std::string text;
  };
  std::vector<HashedText> hashed_text(
      const std::vector<std::pair<std::string, std::string>>& parameters) const;
  /// Whether the conditions hold at `position`.
  bool holds(std::uint64_t position) const;
  /// Which value of `dimension` a position has.
  std::size_t index(std::size_t dimension, std::uint64_t position) const;

  SweepSpec spec_;
  std::vector<std::size_t> dimension_of_;  ///< of each axis
  std::vector<std::uint64_t> stride_;      ///< by how much the next value of a dimension advances
  std::uint64_t product_ = 1;
  std::vector<Condition> conditions_;
  std::vector<std::vector<std::pair<std::string, std::string>>> parameters_;  ///< of each arch
  std::vector<std::vector<HashedText>> hashed_;                               ///< of each arch
  /// option_files_digest() of the options and values that have one.
  std::map<std::pair<std::string, std::string>, std::string> option_files_;
  /// default_files_digests() of each architecture.
  std::vector<std::map<std::string, std::string>> default_files_;
};

/// The plan of a sweep whose options exist and have the values that it gives them, and that has a
/// point at least. Throws InputError.
SweepPlan checked_plan(SweepSpec spec);

}  // namespace sptc::sweep
