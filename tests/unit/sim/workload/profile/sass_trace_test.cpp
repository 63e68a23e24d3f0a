// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/packed.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::workload::profile {
namespace {

const std::string kTrace =
    "-kernel name = gemm_kernel\n-kernel id = 1\n-grid dim = (1,1,1)\n"
    "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs]\n"
    "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 4\n"
    "0000 ffffffff 1 UR4 S2UR 0 0\n"
    "0010 ffffffff 1 R20 HMMA.16816.F32 3 R4 R12 R20 0\n"
    "0020 ffffffff 1 R12 HMMA.SP.16832.F32 4 R8 R12 R255 R6 0\n"
    "0030 ffffffff 0 EXIT 0 0\n#END_TB\n";

void expect_mix(std::string bytes) {
  support::expect_input_error(
      [&] {
        input::InputStream input(std::move(bytes), "x");
        importer::read_recording(input);
      },
      {"x: no launch of this trace of SASS instructions can be simulated",
       "of 4 instructions of warps 1 HMMA.16816.F32, 1 HMMA.SP.16832.F32 are on tensor cores, with "
       "6144 multiply-accumulates"});
}

TEST(SassTrace, TheMixOfMatrixInstructionsIsSaid) {
  expect_mix(kTrace);
  expect_mix(support::xz_packed(kTrace));
}

TEST(SassTrace, LinesMayEndAsOnWindows) {
  std::string text;
  for (const char c : kTrace) {
    text += c == '\n' ? "\r\n" : std::string(1, c);
  }
  expect_mix(text);
}

}  // namespace
}  // namespace sptc::workload::profile
