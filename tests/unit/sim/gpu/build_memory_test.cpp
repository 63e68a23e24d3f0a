// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/build_memory.h"

#include "sim/config/architecture.h"
#include "sim/gpu/gpu.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/gemm_grid.h"
#include "tests/support/sanitizers.h"

#include <gtest/gtest.h>

#include <malloc.h>
#include <memory>
#include <string>
#include <utility>

namespace sptc::gpu {
namespace {

GpuSpec a100() {
  return config::load_architecture("a100-sxm4-80gb").gpu;
}

double heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

TEST(BuildMemory, IsWhatTheHeapHasOfADesign) {
  if (support::kAddressSanitizer) {
    GTEST_SKIP() << "AddressSanitizer has a heap of its own";
  }
  constexpr int kSms = 4;
  int number = 0;
  const auto expect_close = [&](const GpuSpec& spec, const char* what) {
    const base::Clock clock(spec.boost_clock_mhz);
    const double before = heap_bytes();
    const Gpu gpu(("gpu" + std::to_string(number++)).c_str(), clock, support::with_sms(spec, kSms));
    const double taken = heap_bytes() - before;
    const double worked_out = static_cast<double>(memory_to_build(support::with_sms(spec, kSms)));
    EXPECT_GT(worked_out, 0.7 * taken) << what;
    EXPECT_LT(worked_out, 2 * taken) << what;
  };
  using Change = void (*)(GpuSpec&);
  for (const auto& [what, change] :
       {std::pair<const char*, Change>{"as it is", [](GpuSpec&) {}},
        {"with an L2 of all SMs", [](GpuSpec& spec) { spec.sms = kSms; }},
        {"l2_capacity_bytes",
         [](GpuSpec& spec) {
           spec.sms = kSms;
           spec.memory.l2_capacity = base::Bytes(1 << 30);
         }},
        {"l1_and_shared_memory_bytes", [](GpuSpec& spec) { spec.sm.l1_and_shared_memory = base::Bytes(1 << 30); }},
        {"max_warps", [](GpuSpec& spec) { spec.sm.max_warps = 4096; }},
        {"max_ctas", [](GpuSpec& spec) { spec.sm.max_ctas = 4096; }},
        {"sub_partitions", [](GpuSpec& spec) { spec.sm.sub_partitions = 32; }},
        {"register_banks", [](GpuSpec& spec) { spec.sm.tensor_core.register_banks = 64; }}}) {
    GpuSpec spec = a100();
    change(spec);
    expect_close(spec, what);
  }
}

TEST(BuildMemory, TooMuchIsRefusedWithTheFieldsThatAskForIt) {
  const auto expect_refused = [](const GpuSpec& spec, std::string_view fields) {
    support::expect_input_error([&] { require_memory_to_build(spec); },
                                {"building 'a100-sxm4-80gb' with ", fields, ": needs ",
                                 " GiB of memory, more than the 4 GiB that a design may take"});
  };
  GpuSpec spec = a100();
  EXPECT_NO_THROW(require_memory_to_build(spec));
  spec.sms = 4096;
  EXPECT_NO_THROW(require_memory_to_build(spec));
  GpuSpec large = spec;
  large.sm.l1_and_shared_memory = base::Bytes(1 << 30);
  expect_refused(large, "/sms 4096 and /sm/l1_and_shared_memory_bytes 1073741824: needs 8");
  large = spec;
  large.sm.sub_partitions = 64;
  expect_refused(large, "/sms 4096 and /sm/sub_partitions 64: needs 1");
  large = spec;
  large.sm.max_warps = 4096;
  expect_refused(large, "/sms 4096, /sm/max_warps 4096 and /sm/max_ctas 32: needs 1");
}

}  // namespace
}  // namespace sptc::gpu
