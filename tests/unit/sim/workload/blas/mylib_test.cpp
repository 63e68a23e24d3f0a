// SPDX-License-Identifier: Apache-2.0
//
// A reader of one's own: the example of sim/EXTENDING.md.
#include "models/base/error.h"
#include "sim/io/csv.h"
#include "sim/workload/launch_list.h"
#include "sim/workload/readers.h"
#include "tests/support/expect_input_error.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::workload::blas {
namespace {

constexpr std::string_view kHeader = "mylib,m,n,k,type,us";

void read(input::InputStream& input, const ImportOptions& /*options*/, Recording& recording) {
  constexpr std::size_t kMaxBytes = 64 << 20;
  LaunchList list;
  for (const io::CsvRecord& record : io::parse_csv(input.rest(kMaxBytes), input.name())) {
    const std::string place = fmt::format("{}:{}", input.name(), record.line);
    const std::vector<std::string>& fields = record.fields;
    if (fields.size() != 6) {
      throw base::InputError(fmt::format("{}: {} fields, not 6", place, fields.size()));
    }
    if (fields[0] == "mylib") {
      continue;  // the header
    }
    RecordedLaunch launch;
    launch.op.name = fields[0];
    launch.op.shape = {recorded_integer(fields[1], place, "m"), recorded_integer(fields[2], place, "n"),
                       recorded_integer(fields[3], place, "k")};
    launch.op.recorded.time_us = static_cast<double>(recorded_integer(fields[5], place, "us"));
    launch.dtype = fields[4];  // "f16", "bf16", ..; with another name the launch is not taken
    launch.weight = true;      // A is a weight, which 2:4 may prune
    if (fields[0] == "attention") {
      launch.reason = "fused attention: its GEMMs are inside another kernel";
    }
    list.add(std::move(launch), place);
  }
  recording.account.add_note("the file says no layout: A is taken for the weight");
  std::move(list).move_to(recording, input.name());
}

const Reader kMyLib{"log of mylib", [](const Head& head) { return head.text.starts_with(kHeader); }, read};

Recording read_rows(const std::string& rows) {
  input::InputStream input("mylib,m,n,k,type,us\n" + rows, "x");
  EXPECT_TRUE(kMyLib.recognises(Head{input.head(), {}}));
  Recording recording;
  kMyLib.read(input, {}, recording);
  return recording;
}

TEST(MyLib, ThePageShowsAReaderThatReads) {
  const Workload read_back =
      read_rows("up,64,16,32,f16,4\nup,64,16,32,f16,6\nattention,0,0,0,f16,3\nx,64,16,32,f64,1\n").workload;
  const Operation& taken = read_back.operations.at(0);
  EXPECT_EQ(taken.shape, (base::GemmShape{64, 16, 32}));
  EXPECT_EQ(taken.count, 2);
  EXPECT_EQ(taken.recorded.time_us, 5);
  EXPECT_TRUE(taken.prunable);
  ASSERT_EQ(read_back.not_taken.size(), 2U);
  EXPECT_EQ(read_back.not_taken[0].reason, "fused attention: its GEMMs are inside another kernel");
  support::expect_input_error([] { read_rows("up,64,16,32,f16\n"); }, {"x:2: 5 fields, not 6"});
  support::expect_input_error([] { read_rows("up,64,16,y,f16,4\n"); }, {"x:2: k must be an integer, not 'y'"});
}

}  // namespace
}  // namespace sptc::workload::blas
