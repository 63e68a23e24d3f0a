// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>

namespace sptc::batched {

/// The rounding mode of this thread while it lives.
class RoundingMode {
 public:
  explicit RoundingMode(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~RoundingMode() { std::fesetround(before_); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  int before_;
};

}  // namespace sptc::batched
