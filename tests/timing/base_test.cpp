// SPDX-License-Identifier: Apache-2.0
// The two primitives that all timing is made of: limiter and wire.
#include "models/base/error.h"
#include "sim/base/module.h"
#include "sim/base/throughput.h"
#include "sim/base/wire.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace sptc::timing {
namespace {

TEST(Throughput, CarriesFractionsOfCyclesOver) {
  base::Throughput port(20.6);
  std::vector<std::int64_t> starts;
  std::int64_t now = 0;
  for (int i = 0; i < 104; ++i) {
    now = port.ready_at(now);
    starts.push_back(now);
    port.take(now, 128);
  }
  // 128 bytes take 6.2136 cycles; 103 of them 640 cycles exactly.
  EXPECT_EQ(starts[103], 640);
  for (std::size_t i = 1; i < starts.size(); ++i) {
    EXPECT_GE(starts[i] - starts[i - 1], 6);
    EXPECT_LE(starts[i] - starts[i - 1], 7);
  }
  EXPECT_NEAR(port.busy_cycles(), 104 * 128 / 20.6, 1e-9);
}

TEST(Throughput, IsReadyInTheCycleInWhichTheRequestBeforeEnds) {
  base::Throughput port(128);
  port.take(10, 512);
  EXPECT_FALSE(port.ready(13));
  EXPECT_TRUE(port.ready(14));
  EXPECT_EQ(port.ready_at(11), 14);
  EXPECT_EQ(port.ready_at(20), 20);
}

TEST(Throughput, TakesSeveralSmallRequestsInOneCycle) {
  base::Throughput port(128);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(port.ready(0));
    port.take(0, 32);
  }
  EXPECT_FALSE(port.ready(0));
  EXPECT_TRUE(port.ready(1));
}

TEST(Throughput, DoesNotSaveUpIdleCycles) {
  base::Throughput port(1);
  port.take(0, 1);
  port.take(100, 1);
  EXPECT_FALSE(port.ready(100));
}

TEST(Throughput, TellsTheCycleInWhichWhatIsReservedIsThrough) {
  base::Throughput port(20.6);
  EXPECT_EQ(port.reserve(10, 128), 17) << "10 + 6.2136, rounded up";
  EXPECT_EQ(port.ready_at(10), 16) << "the rest of the seventh cycle is free";
  EXPECT_EQ(port.reserve(0, 128), 23) << "10 + 2 * 6.2136, behind the first";
  EXPECT_EQ(port.busy_until(), 23);
  EXPECT_EQ(port.reserve(23, 206), 33) << "whole cycles are not rounded";
  EXPECT_EQ(port.cycles_of(port.left_behind(30)), 3);
  EXPECT_EQ(port.left_behind(40), 0);
  EXPECT_NEAR(port.busy_cycles(), (128 + 128 + 206) / 20.6, 1e-9);
}

TEST(Throughput, RefusesABusyUnitAndARateOfNothing) {
  base::Throughput port(1);
  port.take(0, 2);
  EXPECT_THROW(port.take(1, 1), base::InternalError);
  EXPECT_THROW(base::Throughput(0), base::InternalError);
  EXPECT_THROW(base::Throughput(-4), base::InternalError);
}

/// Writes (cycle, latency, value) triples to a wire and notes when each value is read.
struct Planned {
  std::int64_t cycle = 0;
  std::int64_t latency = 0;  ///< 0: that of the wire
  int value = 0;
};

class Writer : public base::Module {
 public:
  sc_core::sc_port<base::WireOut<int>> out{"out"};
  Writer(const sc_core::sc_module_name& name, const base::Clock& clock, std::vector<Planned> plan)
      : base::Module(name, clock), plan_(std::move(plan)) {
    run_on();
  }
  void start_of_simulation() override { wake_at(0); }

 protected:
  void on_event() override {
    while (next_ < plan_.size() && plan_[next_].cycle <= now()) {
      const Planned& planned = plan_[next_++];
      planned.latency > 0 ? out->write_after(planned.value, planned.latency) : out->write(planned.value);
    }
    if (next_ < plan_.size()) {
      wake_at(plan_[next_].cycle);
    }
  }

 private:
  std::vector<Planned> plan_;
  std::size_t next_ = 0;
};

class Reader : public base::Module {
 public:
  sc_core::sc_port<base::WireIn<int>> in{"in"};
  Reader(const sc_core::sc_module_name& name, const base::Clock& clock) : base::Module(name, clock) { run_on(in); }
  std::vector<std::pair<std::int64_t, int>> read;

 protected:
  void on_event() override {
    while (in->can_read()) {
      read.emplace_back(now(), in->read());
    }
  }
};

using Reads = std::vector<std::pair<std::int64_t, int>>;

Reads reads_of(int latency, std::vector<Planned> plan, const std::function<void(base::Wire<int>&)>& tap = {}) {
  const base::Clock clock(1000);
  base::Wire<int> wire("wire", clock, latency);
  Writer writer("writer", clock, std::move(plan));
  Reader reader("reader", clock);
  writer.out(wire);
  reader.in(wire);
  if (tap) {
    tap(wire);
  }
  sc_core::sc_start();
  return reader.read;
}

TEST(Wire, DeliversAfterItsLatencyInOrder) {
  EXPECT_EQ(reads_of(3, {{0, 0, 1}, {1, 0, 2}, {1, 0, 3}, {9, 0, 4}}), (Reads{{3, 1}, {4, 2}, {4, 3}, {12, 4}}));
}

TEST(Wire, AValueNeverOvertakesTheOneBefore) {
  EXPECT_EQ(reads_of(1, {{0, 10, 1}, {2, 1, 2}, {20, 1, 3}}), (Reads{{10, 1}, {10, 2}, {21, 3}}));
}

TEST(Wire, HoldsAsManyValuesAsAreUnderWay) {
  std::vector<Planned> plan;
  Reads expected;
  for (int i = 0; i < 100; ++i) {
    plan.push_back({i, 0, i});
    expected.emplace_back(i + 50, i);
  }
  EXPECT_EQ(reads_of(50, plan), expected);
}

TEST(Wire, NeedsAtLeastOneCycle) {
  const base::Clock clock(1000);
  EXPECT_THROW(base::Wire<int>("none", clock, 0), base::InternalError);
  base::Wire<int> wire("wire", clock, 1);
  EXPECT_THROW(wire.write_after(1, 0), base::InternalError);
  EXPECT_THROW(wire.write_after(1, -1), base::InternalError);
}

TEST(Wire, IsRefusedToReadWhereNothingIsDue) {
  const base::Clock clock(1000);
  base::Wire<int> wire("wire", clock, 2);
  EXPECT_FALSE(wire.can_read());
  EXPECT_THROW(wire.read(), base::InternalError);
}

TEST(Wire, TapsAreCalledInTheOrderInWhichTheyWereAdded) {
  std::vector<int> seen;
  const auto tap = [&](base::Wire<int>& wire) {
    EXPECT_FALSE(wire.tapped());
    wire.add_tap([](int& value) { value += 100; });
    wire.add_tap([](int& value) { value *= 3; });
    wire.add_tap([&](int& value) { seen.push_back(value); });
    EXPECT_TRUE(wire.tapped());
  };
  EXPECT_EQ(reads_of(1, {{0, 0, 1}, {5, 0, 2}}, tap), (Reads{{1, 303}, {6, 306}}));
  EXPECT_EQ(seen, (std::vector<int>{303, 306}));
}

}  // namespace
}  // namespace sptc::timing
