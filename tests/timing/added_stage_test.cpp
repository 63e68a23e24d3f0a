// SPDX-License-Identifier: Apache-2.0
// A stage of one's own between two wires of a tensor core: the example of sim/EXTENDING.md.
#include "sim/base/module.h"
#include "sim/base/wire.h"
#include "sim/hardware/tensor_core/tokens.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace sptc::timing {
namespace {

/// Behind the adders: an adder that is narrower, and loses the low bits of every sum.
class NarrowSum : public base::Module {
 public:
  sc_core::sc_port<base::WireIn<tensor_core::SumsToken>> sums_in{"sums_in"};
  sc_core::sc_port<base::WireOut<tensor_core::SumsToken>> sums_out{"sums_out"};

  NarrowSum(const sc_core::sc_module_name& name, const base::Clock& clock, int lost_bits)
      : base::Module(name, clock), unit_(std::int64_t{1} << lost_bits) {
    run_on(sums_in);
  }

 protected:
  void on_event() override {
    while (sums_in->can_read()) {
      tensor_core::SumsToken token = sums_in->read();
      if (token.payload) {
        for (auto& row : token.payload->sum) {
          for (std::int64_t& sum : row) {
            sum -= sum % unit_;  // toward zero
          }
        }
      }
      sums_out->write(std::move(token));
    }
  }

 private:
  std::int64_t unit_;
};

TEST(AddedStage, CutsSumsAndTakesTheLatencyOfTheWireBehindIt) {
  const base::Clock clock(1000);
  base::Wire<tensor_core::SumsToken> before("before", clock, 1), after("after", clock, 2);
  NarrowSum stage("narrow_sum", clock, 4);
  stage.sums_in(before);
  stage.sums_out(after);
  std::optional<std::int64_t> left_at;
  after.add_tap([&](tensor_core::SumsToken&) { left_at = clock.now(); });
  base::run_events(sc_core::SC_ZERO_TIME);

  tensor_core::SumsToken token;
  token.payload = base::make_payload<mma::AlignedSums>();
  token.payload->sum[0][0] = 0b1'0111;
  token.payload->sum[15][7] = -0b1'0111;
  before.write(std::move(token));
  base::run_events(clock.cycles(3));

  EXPECT_EQ(left_at, 1);
  ASSERT_TRUE(after.can_read());
  const tensor_core::SumsToken cut = after.read();
  EXPECT_EQ(cut.payload->sum[0][0], 0b1'0000);
  EXPECT_EQ(cut.payload->sum[15][7], -0b1'0000);
}

}  // namespace
}  // namespace sptc::timing
