// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/unit/sim/compare/kernel/planted_kernel.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace sptc::compare::kernel {

inline const Shape half{"A100", kHalf, 128, 96, 256};
inline const Shape sparse{"A100", kHalfSparse, 128, 96, 256};
inline const Shape narrow{"H100", kHalf, 96, 64, 320, false, DataType::kF16};
inline const Shape with_c{"A100", kBrain, 64, 64, 192, true};
inline const Shape square{"A100", kHalf, 64, 64, 256};

/// Expects that `fault` is named `cause`, with `parts` in its text: what and where.
inline void expect_named(std::string_view fault, std::string_view cause,
                         std::initializer_list<std::string_view> parts,
                         const KernelDiagnosis& diagnosis) {
  EXPECT_FALSE(diagnosis.bit_exact()) << fault;
  ASSERT_FALSE(diagnosis.fitting.empty()) << fault << ": not named";
  const Explanation& named = diagnosis.fitting.front();
  EXPECT_EQ(named.cause, cause) << fault << " is named " << told(diagnosis);
  for (const std::string_view part : parts) {
    EXPECT_NE(named.text.find(part), std::string::npos) << fault << " is named " << told(diagnosis);
  }
}

}  // namespace sptc::compare::kernel
