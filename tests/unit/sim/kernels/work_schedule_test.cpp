// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/work_schedule.h"

#include "sim/config/architecture.h"
#include "sim/kernels/kernel_choice.h"
#include "sim/kernels/kernel_result.h"
#include "sim/kernels/traffic_counts.h"
#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace sptc::kernels {
namespace {

using numerics::DataType;

constexpr std::int64_t kSms = 108;

GemmKernel kernel_of(const char* gpu_name, const KernelOverrides& overrides) {
  const gpu::GpuSpec gpu = config::load_architecture(gpu_name).gpu;
  const GemmProblem problem{{4096, 4096, 1024}, 1, DataType::kF16, false};
  return choose_kernel(problem, overrides, gpu.kernel_target(), false);
}

GemmKernel stream_k() {
  return kernel_of("a100-sxm4-80gb", {base::GemmShape{128, 128, 32}, {}, {}, Decomposition::kStreamK});
}

TEST(WorkSchedule, StreamKGivesEveryKTileToOneCtaAndAsManyToEach) {
  const GemmKernel kernel = stream_k();
  const std::int64_t resident = kSms * kernel.ctas_per_sm;
  for (const std::int64_t tiles :
       {std::int64_t{1}, std::int64_t{7}, resident - 1, resident, resident + 1, 3 * resident + 5}) {
    constexpr std::int64_t kDepth = 32;
    const WorkSchedule schedule(kernel, tiles, kDepth, kSms);
    std::map<std::int64_t, std::vector<bool>> done;
    std::map<std::int64_t, int> owners, others, peers;
    std::int64_t least = tiles * kDepth, most = 0;
    for (std::int64_t cta = 0; cta < schedule.ctas(); ++cta) {
      std::int64_t work = 0;
      for (const isa::WorkSegment& segment : schedule.segments(cta)) {
        EXPECT_GT(segment.k_tiles, 0);
        work += segment.k_tiles;
        std::vector<bool>& of_tile = done.try_emplace(segment.output_tile, kDepth).first->second;
        for (std::int64_t k = 0; k < segment.k_tiles; ++k) {
          const auto at = static_cast<std::size_t>(segment.first_k_tile + k);
          EXPECT_FALSE(of_tile.at(at));
          of_tile[at] = true;
        }
        (segment.finishes ? owners : others)[segment.output_tile] += 1;
        peers[segment.output_tile] += segment.peers;
      }
      least = std::min(least, work);
      most = std::max(most, work);
    }
    EXPECT_LE(most - least, 1) << tiles;
    EXPECT_LE(schedule.ctas(), resident);
    EXPECT_EQ(static_cast<std::int64_t>(done.size()), tiles);
    EXPECT_EQ(!others.empty(), tiles % resident != 0) << tiles;
    for (const auto& [tile, k_tiles] : done) {
      EXPECT_TRUE(std::all_of(k_tiles.begin(), k_tiles.end(), [](bool is_done) { return is_done; }));
      EXPECT_EQ(owners[tile], 1) << tile;
      EXPECT_EQ(peers[tile], others[tile]) << tile;
    }
  }
}

TEST(WorkSchedule, HasTheCtasThatTheResultOfAKernelSays) {
  const gpu::GpuSpec h100 = config::load_architecture("h100-sxm5-80gb").gpu;
  const gpu::GpuSpec a100 = config::load_architecture("a100-sxm4-80gb").gpu;
  const KernelOverrides streamed{base::GemmShape{128, 128, 32}, {}, {}, Decomposition::kStreamK};
  const KernelOverrides sliced{base::GemmShape{128, 128, 64}, {}, 3};
  for (const base::GemmShape& shape : {base::GemmShape{4096, 4096, 4096}, {256, 256, 16384}, {64, 64, 64}}) {
    for (const auto& [gpu, overrides] :
         {std::pair(&h100, KernelOverrides{}), std::pair(&h100, sliced), std::pair(&a100, streamed)}) {
      const GemmProblem problem{shape, 2, DataType::kF16, false};
      if (shape.k == 64 && overrides.split_k) {
        continue;
      }
      const GemmKernel kernel = choose_kernel(problem, overrides, gpu->kernel_target(), false);
      const KernelResult result = kernel.result(gpu->sms);
      const WorkSchedule schedule(kernel, kernel.ctas(), kernel.k_tiles(), gpu->sms);
      EXPECT_EQ(result.ctas, schedule.ctas()) << gpu->name << ' ' << shape.m;
      EXPECT_EQ(result.output_tiles, 2 * kernel.tiles_m() * kernel.tiles_n());
      EXPECT_EQ(result.waves, 1);
    }
  }
}

TEST(WorkSchedule, PersistentCtasTakeEveryTileInTurn) {
  const GemmKernel kernel = kernel_of("h100-sxm5-80gb", {});
  ASSERT_TRUE(kernel.persistent());
  const WorkSchedule schedule(kernel, 300, 8, 132);
  const std::int64_t ctas = 132 * kernel.ctas_per_sm;
  ASSERT_EQ(schedule.ctas(), std::min<std::int64_t>(300, ctas));
  std::int64_t tiles = 0;
  for (std::int64_t cta = 0; cta < schedule.ctas(); ++cta) {
    std::int64_t next = cta;
    for (const isa::WorkSegment& segment : schedule.segments(cta)) {
      EXPECT_EQ(segment.output_tile, next);
      EXPECT_EQ(segment.k_tiles, 8);
      EXPECT_TRUE(segment.finishes);
      next += schedule.ctas();
      ++tiles;
    }
  }
  EXPECT_EQ(tiles, 300);
}

TEST(WorkSchedule, TheLastSliceOfKIsAsDeepAsWhatIsLeft) {
  // 32 k-tiles of the A100's kernel, 16 of the H100's, in slices of 7 and of 3.
  for (const char* const gpu : {"a100-sxm4-80gb", "h100-sxm5-80gb"}) {
    GemmKernel kernel = kernel_of(gpu, {base::GemmShape{128, 128, gpu[0] == 'a' ? 32 : 64}, {}, {}});
    kernel.cut_k(gpu[0] == 'a' ? 5 : 6);
    const std::int64_t deep = kernel.k_tiles(), all = kernel.all_k_tiles();
    ASSERT_NE(all % deep, 0);
    const WorkSchedule whole(kernel, kernel.ctas(), deep, kSms, WorkSchedule::Slices::kWhole);
    const WorkSchedule alike(kernel, kernel.ctas(), deep, kSms);
    EXPECT_EQ(whole.ctas() == kernel.ctas(), !kernel.persistent());
    std::int64_t of_whole = 0, of_alike = 0;
    for (std::int64_t cta = 0; cta < whole.ctas(); ++cta) {
      for (const isa::WorkSegment& segment : whole.segments(cta)) {
        EXPECT_GT(segment.k_tiles, 0);
        EXPECT_LE(segment.k_tiles, deep);
        of_whole += segment.k_tiles;
      }
      for (const isa::WorkSegment& segment : alike.segments(cta)) {
        of_alike += segment.k_tiles;
      }
    }
    EXPECT_EQ(of_whole, kernel.tiles_m() * kernel.tiles_n() * all);
    EXPECT_EQ(of_alike, kernel.ctas() * deep);
  }
}

TEST(ScheduledTraffic, CopiesWhatTheSegmentNeeds) {
  const GemmKernel kernel = stream_k();
  const GemmTraffic traffic(kernel);
  const std::int64_t resident = kSms * kernel.ctas_per_sm;
  const WorkSchedule schedule(kernel, resident + 1, 32, kSms);
  const ScheduledTraffic scheduled(traffic, schedule);
  isa::WarpInstruction copy;
  copy.opcode = isa::Opcode::kCopy;
  copy.operand = isa::Operand::kB;
  std::int64_t iteration = 0;
  for (const isa::WorkSegment& segment : schedule.segments(3)) {
    for (std::int64_t k = 0; k < segment.k_tiles; ++k, ++iteration) {
      const sm::MemoryRange expected = traffic.range(segment.output_tile, 1, copy, segment.first_k_tile + k);
      const sm::MemoryRange range = scheduled.range(3, 1, copy, iteration);
      EXPECT_EQ(range.address, expected.address);
      EXPECT_EQ(range.bytes, expected.bytes);
    }
  }
  // What one CTA stores another one reads, and nothing else lies there.
  isa::WarpInstruction sums;
  sums.operand = isa::Operand::kPartialSum;
  sums.opcode = isa::Opcode::kStoreGlobal;
  const sm::MemoryRange stored = scheduled.range(4, 1, sums, 0);
  sums.opcode = isa::Opcode::kCopy;
  EXPECT_EQ(scheduled.range(3, 1, sums, 0).address, stored.address);
  EXPECT_EQ(stored.bytes, 16 * kernel.warp_tile.n * 4);
  sums.where.row = GemmTraffic::kFlag;
  EXPECT_NE(scheduled.range(3, 1, sums, 0).address, stored.address);
}

/// What the L2 reads for copies of all k-tiles of all CTAs.
double read_by_l2(const GemmKernel& kernel, isa::Operand operand) {
  const GemmTraffic traffic(kernel);
  isa::WarpInstruction copy;
  copy.opcode = isa::Opcode::kCopy;
  copy.operand = operand;
  copy.first_warp_only = true;
  double bytes = 0;
  for (std::int64_t cta = 0; cta < kernel.ctas(); ++cta) {
    for (std::int64_t k_tile = 0; k_tile < kernel.k_tiles(); ++k_tile) {
      const sm::MemoryRange range = traffic.range(cta, 0, copy, k_tile);
      bytes += static_cast<double>(range.bytes) / range.readers;
    }
  }
  return bytes;
}

TEST(Clusters, TheL2ReadsTheLargerTileOnceForTheCtasThatHaveItInCommon) {
  gpu::GpuSpec gpu = config::load_architecture("h100-sxm5-80gb").gpu;
  struct Case {
    base::GemmShape shape, tile;
    int cluster;
    std::int64_t b_times, a_times;  ///< that the L2 reads the whole of B and of A
    bool sparse = false;
  };
  for (const Case& of : std::vector<Case>{
           {{512, 640, 256}, {128, 128, 64}, 1, 4, 5},
           {{512, 640, 256}, {128, 128, 64}, 2, 2, 5},
           {{640, 640, 256}, {128, 128, 64}, 2, 3, 5},  // the last row has no peer
           {{640, 640, 256}, {128, 128, 64}, 4, 2, 5},
           {{512, 640, 256}, {256, 128, 64}, 2, 2, 3},  // A is larger
           {{640, 640, 256}, {128, 128, 128}, 2, 3, 5, true},
           {{100, 640, 256}, {128, 128, 128}, 2, 1, 3, true},
           {{100, 640, 256}, {128, 128, 64}, 2, 1, 3},  // one row of tiles: only A is common
           {{100, 100, 256}, {128, 128, 64}, 2, 1, 1},
       }) {
    gpu.launch.cluster_ctas = of.cluster;
    gpu.kernels.tiles = {{static_cast<int>(of.tile.m), static_cast<int>(of.tile.n), 16, static_cast<int>(of.tile.n),
                          mma::MmaFamily::kWgmma}};
    gpu.kernels.sparse_tiles = gpu.kernels.tiles;
    const GemmProblem problem{of.shape, 1, DataType::kF16, of.sparse};
    const GemmKernel kernel = choose_kernel(problem, {of.tile, {}, {}, {}}, gpu.kernel_target(), false);
    ASSERT_TRUE(kernel.executed.is_asynchronous());
    const GemmBytes bytes(kernel);
    double total = 0;
    for (const isa::Operand operand : {isa::Operand::kA, isa::Operand::kB, isa::Operand::kMetadata}) {
      if (operand == isa::Operand::kMetadata && !of.sparse) {
        continue;
      }
      const bool is_b = operand == isa::Operand::kB;
      const std::int64_t whole = (is_b ? of.shape.n : of.shape.m) * bytes.row_bytes(operand, of.shape.k);
      const double read = read_by_l2(kernel, operand);
      EXPECT_NEAR(read, static_cast<double>(whole * (is_b ? of.b_times : of.a_times)), 0.01)
          << of.shape.m << " " << of.cluster << " " << of.sparse << " " << is_b;
      total += read;
    }
    EXPECT_NEAR(total, static_cast<double>(l2_read_bytes(kernel)), 0.01);
    EXPECT_EQ(copied_bytes(kernel) > l2_read_bytes(kernel), kernel.multicast().has_value());
  }
}

TEST(CtaGroups, CopyEachTileOfBOnceAndMayLieBeyondTheEdge) {
  gpu::GpuSpec gpu = config::load_architecture("b200").gpu;
  gpu.launch.cluster_ctas = 1;  // of which columns of tiles have A in common
  for (const std::int64_t m : {100, 128, 129, 300, 512, 600, 1024}) {
    for (const bool sparse : {false, true}) {
      const base::GemmShape shape{m, 640, 256};
      const base::GemmShape tile{128, 128, sparse ? 128 : 64};
      const GemmKernel kernel =
          choose_kernel({shape, 1, DataType::kF16, sparse}, {tile, {}, {}, {}}, gpu.kernel_target(), false);
      ASSERT_TRUE(kernel.tensor_memory());
      ASSERT_EQ(kernel.cta_group, m > 128 ? 2 : 1);
      const std::int64_t groups = base::ceil_div(m, 128 * kernel.cta_group);
      EXPECT_EQ(kernel.tiles_m(), kernel.cta_group * groups);
      const GemmBytes bytes(kernel);
      const auto whole = [&](isa::Operand operand) {
        return static_cast<double>((operand == isa::Operand::kB ? shape.n : shape.m) *
                                   bytes.row_bytes(operand, shape.k));
      };
      // B for each pair of rows of tiles, A for each column.
      EXPECT_EQ(read_by_l2(kernel, isa::Operand::kB), whole(isa::Operand::kB) * static_cast<double>(groups));
      EXPECT_EQ(read_by_l2(kernel, isa::Operand::kA), whole(isa::Operand::kA) * 5);
      const double metadata = sparse ? read_by_l2(kernel, isa::Operand::kMetadata) : 0;
      EXPECT_EQ(read_by_l2(kernel, isa::Operand::kA) + read_by_l2(kernel, isa::Operand::kB) + metadata,
                static_cast<double>(copied_bytes(kernel)));
      const GemmTraffic traffic(kernel);
      for (const isa::Operand operand : {isa::Operand::kA, isa::Operand::kB}) {
        EXPECT_EQ(static_cast<double>(traffic.requested_bytes(operand, 0, kernel.ctas())), read_by_l2(kernel, operand))
            << m;
      }
      EXPECT_EQ(kernel.issued_macs(), kernel.tiles_m() * 128 * 640 * 256 / (sparse ? 2 : 1));
    }
  }
}

TEST(StreamK, RefusesWhatItCannotBe) {
  const gpu::GpuSpec gpu = config::load_architecture("a100-sxm4-80gb").gpu;
  const GemmProblem problem{{512, 512, 512}, 1, DataType::kF16, false};
  support::expect_input_error(
      [&] {
        choose_kernel(problem, {{}, {}, 4, Decomposition::kStreamK}, gpu.kernel_target(), false);
      },
      {"stream-K", "split-k 4"});
  support::expect_input_error(
      [&] {
        choose_kernel(problem, {{}, {}, {}, Decomposition::kStreamK}, gpu.kernel_target(), true);
      },
      {"stream-K", "--fidelity"});
  EXPECT_EQ(choose_kernel({{64, 64, 65536}, 1, DataType::kF16, false}, {{}, {}, {}, Decomposition::kDataParallel},
                          gpu.kernel_target(), false)
                .split_k,
            1);
}

}  // namespace
}  // namespace sptc::kernels
