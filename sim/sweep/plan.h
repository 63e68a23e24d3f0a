// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/sweep_spec.h"

#include <functional>

namespace sptc::sweep {

/// An expression of SQLite over the axes: "sms * dot_units <= 3456 and dtype == 'f16'". Numbers are
/// doubles, words text, true and false 1 and 0. For one thread at a time.
class Condition {
 public:
  /// Throws InputError at `place` for anything that is no expression over `axes`.
  Condition(std::string_view text, std::span<const std::string> axes, const io::JsonPlace& place);

  using Lookup = std::function<const nlohmann::json&(std::size_t axis)>;

  /// Throws InputError where it gives no number: a word, or nothing, as 1 / 0 does.
  bool holds(const Lookup& axis) const;

 private:
  class Statement;

  std::string text_;
  io::JsonPlace place_;
  std::size_t axes_;
  std::shared_ptr<Statement> statement_;
};

struct SweepPoint {
  std::uint64_t position = 0;  ///< in the product of all axes: its identity within the sweep
  std::size_t workload = 0;
  std::size_t architecture = 0;
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  ///< axis and value of each
  std::map<std::string, std::string> options;                   ///< without "--"
};

/// Points are computed when asked for: a million of them take no more memory than the axes.
class SweepPlan {
 public:
  /// Reads the files that options name. Throws InputError where one cannot be read, for conditions
  /// that are no expression, and for products of more than 10^8 points without a sample.
  explicit SweepPlan(SweepSpec spec);

  const SweepSpec& spec() const { return spec_; }

  /// Positions of the product, conditions and sample not considered.
  std::uint64_t product() const { return product_; }

  /// Calls `visit` with the position of every point: of those that satisfy all conditions, all in
  /// ascending order, or a seeded sample in the order of drawing. False ends it.
  void for_each(const std::function<bool(std::uint64_t position)>& visit) const;

  SweepPoint point(std::uint64_t position) const;

  const nlohmann::json& value(std::size_t axis, std::uint64_t position) const;

  /// Over all that the point depends on: architecture after derivation, workload, options with the
  /// content of files that they name, seed and version. Equal: the same thing is simulated.
  std::string hash(const SweepPoint& point) const;

  /// Equal digests: the same positions mean the same points.
  std::string digest() const;

 private:
  /// A value of an axis (none in the first piece), then text that all points share.
  struct HashedText {
    std::optional<std::size_t> axis;
    std::string text;
  };
  std::vector<HashedText> hashed_text(const std::vector<std::pair<std::string, std::string>>& parameters) const;
  bool holds(std::uint64_t position) const;
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

/// Throws InputError for options that do not exist, and where no point is left.
SweepPlan checked_plan(SweepSpec spec);

}  // namespace sptc::sweep
