// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/vcd_dump.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::gpu {
namespace {

bool has(const std::string& text, const char* line) {
  return text.find(line) != std::string::npos;
}

TEST(VcdDump, SaveFileOpensTwoCyclesBeforeTheFirstStageHandsOn) {
  VcdDump dump({3, 100});
  const VcdDump::Signal ready = dump.add("fetch", "ready", 1);
  const VcdDump::Signal late = dump.add("select", "valid", 1);
  const VcdDump::Signal valid = dump.add("fetch", "valid", 1);
  dump.set(4, ready, 1);
  dump.set(5, valid, 0);
  dump.set(12, late, 1);
  dump.set(10, valid, 1);
  // 4 cycles are 2048 ps, and as wide as 200 pixels.
  const std::string file = dump.save_file("x.vcd", 512);
  EXPECT_TRUE(has(file, "[dumpfile] \"x.vcd\"\n")) << file;
  EXPECT_TRUE(has(file, "[timestart] 4096\n")) << file;
  EXPECT_TRUE(has(file, "\n*-11.000 -1\n")) << file;
}

TEST(VcdDump, SaveFileOpensAtTheWindowWhereNothingIsHandedOn) {
  VcdDump dump({3, 100});
  const VcdDump::Signal valid = dump.add("fetch", "valid", 1);
  EXPECT_TRUE(has(dump.save_file("x.vcd", 512), "[timestart] 1536\n"));
  dump.set(4, valid, 1);
  EXPECT_TRUE(has(dump.save_file("x.vcd", 512), "[timestart] 1536\n"));
}

}  // namespace
}  // namespace sptc::gpu
