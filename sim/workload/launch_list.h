// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/recording.h"

#include <unordered_map>

namespace sptc::workload {

/// How the reason of a launch begins that another part of the recording stands for.
inline constexpr const char* kAnotherStep = "of another step";

/// The same of a branch of a model that is not taken.
inline constexpr const char* kAnotherBranch = "in the branch of an If that is not taken";

/// One or more equal launches as a reader finds them.
struct RecordedLaunch {
  Operation op;  ///< but its type; `recorded.time_us` is of one launch
  /// One of ours, or as recorded: launches of a type that no kernel takes are not taken.
  std::string dtype;
  bool weight = false;  ///< A is a weight
  std::string reason;   ///< why it is not taken; empty: it is
};

/// Gathers launches, equal ones as one with their number and mean time, in order of appearance.
class LaunchList {
 public:
  /// Throws InputError "`place`: ..." for extents that no GEMM has.
  void add(RecordedLaunch launch, const std::string& place);
  /// Different launches so far that are taken.
  std::size_t taken() const { return taken_; }

  /// Throws InputError with `name` where nothing was taken.
  void move_to(Recording& recording, const std::string& name) &&;

 private:
  struct Sum {
    RecordedLaunch launch;
    double time_us = 0;
    std::int64_t timed = 0;  ///< launches with a time
  };
  std::unordered_map<std::string, std::size_t> places_;  ///< by what equal launches share
  std::vector<Sum> launches_;
  std::size_t taken_ = 0;
};

/// The convolution as an implicit GEMM in `op`; false where its extents give none.
bool lower_convolution(const ConvGeometry& conv, Operation& op);

/// The product where all factors are positive and it is at most kMaxExtent, else 0.
std::int64_t extent_product(std::span<const std::int64_t> factors);
inline std::int64_t extent_product(std::initializer_list<std::int64_t> factors) {
  return extent_product(std::span(factors.begin(), factors.size()));
}

/// An integer that a recording writes as `text`. Throws InputError "`place`: `what` ...".
std::int64_t recorded_integer(std::string_view text, const std::string& place, std::string_view what);

}  // namespace sptc::workload
