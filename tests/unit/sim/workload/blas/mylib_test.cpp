// SPDX-License-Identifier: Apache-2.0
//
// The reader that traces/ADD_A_READER.md shows: CMakeLists.txt cuts it out of the page.
#include "sim/workload/readers.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>

namespace sptc::workload::blas {

extern const Reader kMyLib;

namespace {

Recording read(const std::string& rows) {
  input::InputStream input("mylib,m,n,k,type,us\n" + rows, "x");
  EXPECT_TRUE(kMyLib.recognises(Head{input.head(), {}}));
  Recording recording;
  kMyLib.read(input, {}, recording);
  return recording;
}

TEST(MyLib, ThePageShowsAReaderThatReads) {
  const Workload read_back =
      read("up,64,16,32,f16,4\nup,64,16,32,f16,6\nattention,0,0,0,f16,3\nx,64,16,32,f64,1\n")
          .workload;
  const Operation& taken = read_back.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{64, 16, 32}));
  EXPECT_EQ(taken.count, 2);
  EXPECT_EQ(taken.recorded.time_us, 5);
  EXPECT_TRUE(taken.prunable);
  ASSERT_EQ(read_back.not_taken.size(), 2U);
  EXPECT_EQ(read_back.not_taken[0].reason, "fused attention: its GEMMs are inside another kernel");
  support::expect_input_error([] { read("up,64,16,32,f16\n"); }, {"x:2: 5 fields, not 6"});
  support::expect_input_error([] { read("up,64,16,y,f16,4\n"); },
                              {"x:2: k must be an integer, not 'y'"});
}

}  // namespace
}  // namespace sptc::workload::blas
