// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sptc::batched {

/// The vector targets of the engine that this machine has.
inline std::vector<std::int64_t> supported_targets() {
  std::vector<std::int64_t> targets;
  for (const std::int64_t target : {HWY_AVX3_DL, HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_NEON}) {
    if ((hwy::SupportedTargets() & target) != 0) {
      targets.push_back(target);
    }
  }
  return targets;
}

/// Runs the engine on one vector target.
class EngineTarget : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

inline std::string target_name(const testing::TestParamInfo<std::int64_t>& target) {
  return hwy::TargetName(target.param);
}

}  // namespace sptc::batched
