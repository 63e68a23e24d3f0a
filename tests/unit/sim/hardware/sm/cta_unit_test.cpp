// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/cta_unit.h"

#include <gtest/gtest.h>

#include <vector>

namespace sptc::sm {
namespace {

/// A CTA unit before one sub-partition, in the place of which a test reports and reads commands.
struct UnitBench {
  explicit UnitBench(int warps) : unit("cta_unit", clock, spec()) {
    unit.launch_in(launch);
    unit.done_out(done);
    unit.report_in[0](report);
    unit.command_out[0](command);
    program.prologue.resize(1);
    kernel.program = &program;
    kernel.warps_per_cta = warps;
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    launch.write({&kernel, 0});
    commands();
  }

  static SmSpec spec() {
    SmSpec spec;
    spec.sub_partitions = 1;
    spec.max_ctas = 1;
    spec.barrier_latency_cycles = 5;
    return spec;
  }

  void tell(WarpReport::Kind kind, int warp) { report.write({kind, {0, warp}, 0}); }

  /// That have come after some time.
  std::vector<WarpCommand::Kind> commands() {
    sc_core::sc_start(clock.cycles(20));
    std::vector<WarpCommand::Kind> kinds;
    while (command.can_read()) {
      kinds.push_back(command.read().kind);
    }
    return kinds;
  }

  const base::Clock clock{1000};
  isa::WarpProgram program;
  KernelLaunch kernel;
  base::Wire<CtaLaunch> launch{"launch", clock, 1};
  base::Wire<CtaDone> done{"done", clock, 1};
  base::Wire<WarpReport> report{"report", clock, 1};
  base::Wire<WarpCommand> command{"command", clock, 1};
  CtaUnit unit;
};

using Kinds = std::vector<WarpCommand::Kind>;

TEST(CtaUnit, AWarpThatExitsReleasesThoseThatWaitAtABarrierForNobodyElse) {
  UnitBench bench(3);
  bench.tell(WarpReport::Kind::kArrivedAtBarrier, 0);
  bench.tell(WarpReport::Kind::kExited, 1);
  EXPECT_EQ(bench.commands(), Kinds{});  // for warp 2
  bench.tell(WarpReport::Kind::kExited, 2);
  EXPECT_EQ(bench.commands(), Kinds{WarpCommand::Kind::kReleaseBarrier});
  bench.tell(WarpReport::Kind::kExited, 0);
  EXPECT_EQ(bench.commands(), Kinds{});
  EXPECT_TRUE(bench.done.can_read());
}

}  // namespace
}  // namespace sptc::sm
