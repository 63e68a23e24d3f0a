// SPDX-License-Identifier: Apache-2.0
#include "sim/sm/wgmma_groups.h"

#include <gtest/gtest.h>

namespace sptc::sm {
namespace {

TEST(WgmmaGroups, AGroupEndsWithItsLastInstruction) {
  WgmmaGroups groups;
  groups.issue();
  groups.issue();
  groups.commit();
  groups.issue();
  groups.commit();
  EXPECT_EQ(groups.groups_under_way(), 2);
  groups.complete();
  EXPECT_EQ(groups.groups_under_way(), 2);
  groups.complete();
  EXPECT_EQ(groups.groups_under_way(), 1);
  EXPECT_FALSE(groups.idle());
  groups.complete();
  EXPECT_EQ(groups.groups_under_way(), 0);
  EXPECT_TRUE(groups.idle());
}

TEST(WgmmaGroups, WhatIsNotCommittedIsNoGroupButIsUnderWay) {
  WgmmaGroups groups;
  groups.issue();
  EXPECT_EQ(groups.groups_under_way(), 0);
  EXPECT_FALSE(groups.idle());
  groups.complete();
  groups.commit();
  EXPECT_EQ(groups.groups_under_way(), 0);
  EXPECT_THROW(groups.complete(), base::InternalError);
}

}  // namespace
}  // namespace sptc::sm
