// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sptc::sm {

/// Life of a CTA on an SM.
struct CtaRecord {
  std::int64_t cta = 0;
  std::int64_t start_cycle = 0;
  std::int64_t end_cycle = 0;
};

}  // namespace sptc::sm
