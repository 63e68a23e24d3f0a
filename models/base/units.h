// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace sptc::base {

/// A count of bytes. Numbers do not mix with it; conversion out is spelled `.count()`.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}

  constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;

 private:
  std::int64_t count_ = 0;
};

}  // namespace sptc::base
