// SPDX-License-Identifier: Apache-2.0
//
// The index arithmetic of the own GEMM kernels, executed on the host: the same layouts of memory
// and shared memory, the same addresses of ldmatrix and wgmma, the instruction taken from the
// simulator.
#include "models/mma/catalogue.h"
#include "tests/hardware/capture/gemm_data.h"
#include "tests/hardware/capture/simulated_device.h"
#include "tests/hardware/cuda/gemm_tile.h"
#include "tests/hardware/cuda/shared_chain.h"
#include "tests/support/expect_input_error.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

namespace sptc::hardware {
namespace {

constexpr int kLanes = 32;

TEST(SwizzledTiles, ServeLdmatrixWithoutBankConflicts) {
  for (const SwizzledTile tile : {SwizzledTile{64}, SwizzledTile{128}}) {
    // A phase of ldmatrix reads 16 bytes of eight neighbouring rows: all 32 banks once.
    for (int row = 0; row < 128; row += 8) {
      for (int chunk = 0; chunk < tile.chunks(); ++chunk) {
        std::set<int> banks;
        for (int i = 0; i < 8; ++i) {
          banks.insert(tile.offset(row + i, chunk) / 16 % 8);
        }
        EXPECT_EQ(banks.size(), 8U) << tile.row_bytes << " " << row << " " << chunk;
      }
    }
    // So do eight lanes of cp.async that write consecutive chunks.
    for (int first = 0; first < 128 * tile.chunks(); first += 8) {
      std::set<int> banks;
      for (int i = first; i < first + 8; ++i) {
        banks.insert(tile.offset(i / tile.chunks(), i % tile.chunks()) / 16 % 8);
      }
      EXPECT_EQ(banks.size(), 8U);
    }
  }
}

TEST(GemmTiles, FitIntoTheSharedMemoryOfEveryGpuFromAmpereOn) {
  constexpr int kLeast = 99 * 1024;  // sm_86, sm_89: opt-in maximum of one block
  static_assert(GemmTile<false>::kSharedBytes <= kLeast && GemmTile<true>::kSharedBytes <= kLeast);
  static_assert(GemmTile<false>::kTileM / GemmTile<false>::kWarpM * GemmTile<false>::kWarpsAlongN ==
                GemmTile<false>::kWarps);
}

/// Eight rows of 16 bytes to the registers of a warp: what one matrix of ldmatrix does.
struct HostLdmatrix {
  const std::vector<std::uint8_t>& shared;

  std::uint32_t word(int offset) const {
    std::uint32_t word = 0;
    std::memcpy(&word, shared.data() + offset, sizeof(word));
    return word;
  }
  /// Register `matrix` of `lane` where lane l gave the address offset(l): row lane / 4 of the
  /// matrix, bytes 4 (lane % 4) on.
  template <typename OffsetOfLane>
  std::uint32_t get(int matrix, int lane, OffsetOfLane offset) const {
    return word(offset(8 * matrix + lane / 4) + lane % 4 * 4);
  }
};

TEST(LdmatrixChains, LoadTheAddressOfTheirNextLoad) {
  for (const int matrices : {1, 2, 4}) {
    const LdmatrixChain chain{matrices};
    std::vector<std::uint8_t> shared(LdmatrixChain::kBytes, 0);
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto address = static_cast<std::uint32_t>(chain.row_offset(lane));
      ASSERT_LT(chain.row_offset(lane) + 15, LdmatrixChain::kBytes);
      std::memcpy(&shared[static_cast<std::size_t>(4 * chain.loaded_word(lane))], &address, sizeof(address));
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(HostLdmatrix{shared}.get(matrices - 1, lane, [&](int giver) { return chain.row_offset(giver); }),
                static_cast<std::uint32_t>(chain.row_offset(lane)))
          << matrices << " " << lane;
    }
  }
}

TEST(ConflictingWords, MeetInEveryBankThatIsUsedAsOftenAsAsked) {
  for (const int ways : {1, 2, 4, 8, 16, 32}) {
    std::map<int, std::set<int>> words_of_bank;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int word = conflicting_word(lane, ways);
      EXPECT_LT(word, 1024);
      words_of_bank[word % 32].insert(word);
    }
    EXPECT_EQ(words_of_bank.size(), static_cast<std::size_t>(kLanes / ways));
    for (const auto& [bank, words] : words_of_bank) {
      EXPECT_EQ(words.size(), static_cast<std::size_t>(ways)) << bank;
    }
  }
}

/// What copy_tile makes of 128 rows of `tile` in stage `stage`.
std::vector<std::uint8_t> staged(const SwizzledTile& tile, const std::vector<std::uint8_t>& from, int pitch,
                                 int stage) {
  std::vector<std::uint8_t> shared(static_cast<std::size_t>(128 * tile.row_bytes));
  for (int row = 0; row < 128; ++row) {
    for (int chunk = 0; chunk < tile.chunks(); ++chunk) {
      std::memcpy(&shared[static_cast<std::size_t>(tile.offset(row, chunk))],
                  &from[static_cast<std::size_t>(row * pitch + stage * tile.row_bytes + chunk * 16)], 16);
    }
  }
  return shared;
}

/// One warp's fragment (16 x 8 of D at row 0, column 8 of the CTA) as the kernel computes it.
template <bool kSparse>
std::vector<std::uint32_t> fragment_of_kernel(const GemmData& data, SimulatedDevice& device) {
  using Tile = GemmTile<kSparse>;
  const auto a = data.pack_a();
  const auto b = data.pack_b();
  const auto metadata = kSparse ? data.pack_metadata() : std::vector<std::uint32_t>();
  const int pitch_a = data.steps() * Tile::kStepBytesOfA;
  const int pitch_b = data.steps() * Tile::kStepBytesOfB;
  std::vector<std::uint32_t> d(4 * kLanes, 0);
  for (int stage = 0; stage < data.steps() / Tile::kStepsPerStage; ++stage) {
    const std::vector<std::uint8_t> shared_a = staged(Tile::kA, a, pitch_a, stage);
    const std::vector<std::uint8_t> shared_b = staged(Tile::kB, b, pitch_b, stage);
    for (int step = 0; step < Tile::kStepsPerStage; ++step) {
      MmaLaunch launch;
      launch.ptx = data.instruction().ptx_name();
      launch.cases = 1;
      launch.c = d;
      launch.d_words = d.size();
      for (int j = 0; j < 4; ++j) {
        for (int lane = 0; lane < kLanes; ++lane) {
          launch.a.push_back(HostLdmatrix{shared_a}.get(j, lane, [&](int giver) {
            return Tile::kA.offset(ldmatrix_a(giver).row, 2 * step + ldmatrix_a(giver).chunk);
          }));
        }
      }
      // Columns 8 to 15: dense, matrices 2 and 3 of the pair of fragments; sparse, the second one.
      for (int j = 0; j < (kSparse ? 4 : 2); ++j) {
        for (int lane = 0; lane < kLanes; ++lane) {
          launch.b.push_back(HostLdmatrix{shared_b}.get(kSparse ? j : j + 2, lane, [&](int giver) {
            return kSparse
                       ? Tile::kB.offset(8 + ldmatrix_b_sparse(giver).row, 4 * step + ldmatrix_b_sparse(giver).chunk)
                       : Tile::kB.offset(ldmatrix_b_dense(giver).row, 2 * step + ldmatrix_b_dense(giver).chunk);
          }));
        }
      }
      if (kSparse) {
        const std::size_t first = static_cast<std::size_t>(stage * Tile::kStepsPerStage + step) * kLanes;
        launch.metadata.assign(metadata.begin() + static_cast<std::ptrdiff_t>(first),
                               metadata.begin() + static_cast<std::ptrdiff_t>(first + kLanes));
      }
      d = device.run(launch);
    }
  }
  return d;
}

template <bool kSparse>
void expect_kernel_equals_engine(numerics::DataType type, const char* target_name) {
  const mma::Target& target = mma::find_target(target_name);
  const auto instruction = mma::gemm_instruction(type, kSparse);
  // k is no multiple of a stage, m and n none of a tile.
  const GemmData data(instruction, {100, 60, 132, "odd"}, true, 3);
  SimulatedDevice device(target);
  const auto d = fragment_of_kernel<kSparse>(data, device);
  std::vector<int> rows;
  std::vector<int> columns;
  for (int i = 0; i < 16; ++i) {
    rows.push_back(i);
  }
  for (int j = 8; j < 16; ++j) {
    columns.push_back(j);
  }
  // Accumulators: lane 4q+t has (q + 8 (j/2), 2t + j%2) in register j.
  std::vector<std::uint32_t> matrix(16 * 8);
  for (int j = 0; j < 4; ++j) {
    for (int lane = 0; lane < kLanes; ++lane) {
      matrix[static_cast<std::size_t>((lane / 4 + 8 * (j / 2)) * 8 + lane % 4 * 2 + j % 2)] =
          d[static_cast<std::size_t>(j * kLanes + lane)];
    }
  }
  const GemmCheck same = check_bits(data, target, rows, columns, matrix);
  EXPECT_EQ(same.elements, 128U);
  EXPECT_EQ(same.mismatches, 0U) << instruction.ptx_name();
  matrix[17] ^= 1;
  EXPECT_EQ(check_bits(data, target, rows, columns, matrix).mismatches, 1U);
}

TEST(OwnGemm, ComputesTheBitsOfTheEngineForEveryTypeAndSparsity) {
  using enum numerics::DataType;
  for (const auto type : {kF16, kBf16, kS8}) {
    expect_kernel_equals_engine<false>(type, "sm_80");
    expect_kernel_equals_engine<true>(type, "sm_80");
  }
  expect_kernel_equals_engine<false>(kE4m3, "sm_89");
  expect_kernel_equals_engine<true>(kE4m3, "sm_89");
}

/// The byte that wgmma reads where a descriptor with the swizzle of `row_bytes` bytes says `start`
/// (PTX ISA: bits 4 on of the address, exclusive or with those from bit 7 on).
std::uint8_t byte_of_wgmma(const std::vector<std::uint8_t>& shared, int start, int row, int at, int row_bytes) {
  const int address = start + row * row_bytes + at;
  const int key = address >> 7 & (row_bytes / 16 - 1);
  return shared[static_cast<std::size_t>(address ^ key << 4)];
}

/// The tile of rows `first_row` on whose rows are `step_bytes` bytes of step `step`, as the device
/// takes it.
std::vector<std::uint32_t> wgmma_operand(const std::vector<std::uint8_t>& shared, const SwizzledTile& tile,
                                         const WgmmaTile& image, int first_row, int step) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(image.bytes() / 4));
  auto* const bytes = reinterpret_cast<std::uint8_t*>(words.data());
  const int start = first_row * tile.row_bytes + step * image.row_bytes;
  for (int row = 0; row < image.rows; ++row) {
    for (int at = 0; at < image.row_bytes; ++at) {
      bytes[image.offset(row, at)] = byte_of_wgmma(shared, start, row, at, tile.row_bytes);
    }
  }
  return words;
}

/// The part of D at row 64 and column 8 of the CTA, 64 x 8, as the wgmma kernel computes it.
template <bool kSparse>
std::vector<std::uint32_t> part_of_wgmma_kernel(const GemmData& data, SimulatedDevice& device) {
  using Tile = WgmmaGemmTile<kSparse>;
  constexpr int kPart = 1;
  const auto a = data.pack_a();
  const auto b = data.pack_b();
  const auto metadata = kSparse ? data.pack_metadata() : std::vector<std::uint32_t>();
  std::vector<std::uint32_t> d(4 * kWgmmaLanes, 0);
  for (int step = 0; step < data.steps(); ++step) {
    const int stage = step / Tile::kStepsPerStage;
    const int in_stage = step % Tile::kStepsPerStage;
    MmaLaunch launch;
    launch.ptx = data.instruction().ptx_name();
    launch.cases = 1;
    launch.a = wgmma_operand(staged(Tile::kA, a, data.steps() * Tile::kStepBytesOfA, stage), Tile::kA,
                             {kWgmmaRows, Tile::kStepBytesOfA}, kPart * Tile::kRows, in_stage);
    launch.b = wgmma_operand(staged(Tile::kB, b, data.steps() * Tile::kStepBytesOfB, stage), Tile::kB,
                             {kWgmmaColumns, Tile::kStepBytesOfB}, 8, in_stage);
    launch.c = d;
    launch.d_words = d.size();
    for (int warp = 0; kSparse && warp < 4; ++warp) {
      const auto word = metadata.begin() + ((kPart * Tile::kRows / 16 + warp) * data.steps() + step) * kLanes;
      launch.metadata.insert(launch.metadata.end(), word, word + kLanes);
    }
    d = device.run(launch);
  }
  return d;
}

template <bool kSparse>
void expect_wgmma_kernel_equals_engine(const char* ptx) {
  const mma::Target& target = mma::find_target("sm_90");
  const GemmData data(mma::parse_instruction(ptx), {120, 60, 132, "odd"}, true, 3);
  SimulatedDevice device(target);
  const auto d = part_of_wgmma_kernel<kSparse>(data, device);
  std::vector<int> rows;
  std::vector<int> columns;
  for (int i = 64; i < 120; ++i) {
    rows.push_back(i);
  }
  for (int j = 8; j < 16; ++j) {
    columns.push_back(j);
  }
  // store_fragment: lane 4q+t of warp w has (16 w + q + 8 (j/2), 2t + j%2) in register j.
  std::vector<std::uint32_t> matrix(56 * 8);
  for (int j = 0; j < 4; ++j) {
    for (int lane = 0; lane < kWgmmaLanes; ++lane) {
      const int row = lane / kLanes * 16 + lane % kLanes / 4 + 8 * (j / 2);
      if (row < 56) {
        matrix[static_cast<std::size_t>(row * 8 + lane % 4 * 2 + j % 2)] =
            d[static_cast<std::size_t>(j * kWgmmaLanes + lane)];
      }
    }
  }
  EXPECT_EQ(check_bits(data, target, rows, columns, matrix).mismatches, 0U) << ptx;
  matrix[17] ^= 1;
  EXPECT_EQ(check_bits(data, target, rows, columns, matrix).mismatches, 1U) << ptx;
}

TEST(WgmmaGemm, ComputesTheBitsOfTheEngineForEveryTypeAndSparsity) {
  expect_wgmma_kernel_equals_engine<false>("wgmma.mma_async.m64n8k16.f32.f16.f16");
  expect_wgmma_kernel_equals_engine<true>("wgmma.mma_async.sp.m64n8k32.f32.f16.f16");
  expect_wgmma_kernel_equals_engine<false>("wgmma.mma_async.m64n8k16.f32.bf16.bf16");
  expect_wgmma_kernel_equals_engine<true>("wgmma.mma_async.sp.m64n8k32.f32.bf16.bf16");
  expect_wgmma_kernel_equals_engine<false>("wgmma.mma_async.m64n8k32.s32.s8.s8");
  expect_wgmma_kernel_equals_engine<true>("wgmma.mma_async.sp.m64n8k64.s32.s8.s8");
  expect_wgmma_kernel_equals_engine<false>("wgmma.mma_async.m64n8k32.f32.e4m3.e4m3");
  expect_wgmma_kernel_equals_engine<true>("wgmma.mma_async.sp.m64n8k64.f32.e4m3.e4m3");
}

TEST(WgmmaGemm, DescribesItsTilesWithTheSwizzleThatItsCopiesWrite) {
  for (const int row_bytes : {64, 128}) {
    for (int row = 0; row < 128; ++row) {
      for (int chunk = 0; chunk < row_bytes / 16; ++chunk) {
        EXPECT_EQ((WgmmaTile{128, row_bytes}.offset(row, chunk * 16)), SwizzledTile{row_bytes}.offset(row, chunk));
      }
    }
  }
  // Address, groups of eight rows 512 and 1024 bytes apart, swizzle of 64 and of 128 bytes.
  static_assert(WgmmaTile{64, 64}.descriptor(0x420) == (0x42ULL | 8ULL << 16 | 32ULL << 32 | 2ULL << 62));
  static_assert(WgmmaTile{128, 128}.descriptor(0x440) == (0x44ULL | 8ULL << 16 | 64ULL << 32 | 1ULL << 62));
  // Every stage begins where the swizzle of 128 bytes repeats, and two CTAs fit into an SM.
  static_assert(WgmmaGemmTile<false>::kStageBytes % 1024 == 0 && WgmmaGemmTile<true>::kStageBytes % 1024 == 0);
  constexpr int kSharedOfAnSm = 228 * 1024, kReserved = 1024;
  static_assert(2 * (WgmmaGemmTile<false>::kSharedBytes + kReserved) <= kSharedOfAnSm &&
                2 * (WgmmaGemmTile<true>::kSharedBytes + kReserved) <= kSharedOfAnSm);
}

TEST(S8Results, AreScaledSoThatTheLargestSumsOfAShapeReachTheEndOfTheirRange) {
  for (const auto& [k, scale] :
       {std::pair(4, 0x1p-8F), std::pair(64, 0x1p-10F), std::pair(1000, 0x1p-12F), std::pair(4096, 0x1p-13F)}) {
    const GemmData data(mma::gemm_instruction(numerics::DataType::kS8, false), {16, 8, k, "k"}, true, 1);
    EXPECT_EQ(data.s8_scale(), scale) << k;
  }
}

TEST(LibraryCheck, TakesTheExactSumAndRefusesOneThatIsOff) {
  const GemmData data(mma::gemm_instruction(numerics::DataType::kF16, true), {16, 8, 64, "x"}, true, 3);
  const std::vector<int> rows{0, 15};
  const std::vector<int> columns{7};
  // The dense form of A, as libraries get it, times B.
  const auto a = data.dense_a();
  const auto b = data.dense_b();
  const auto value = [](const std::vector<std::uint8_t>& bytes, std::size_t i) {
    return numerics::to_double(static_cast<numerics::Word>(bytes[2 * i] | bytes[2 * i + 1] << 8),
                               numerics::DataType::kF16);
  };
  std::vector<double> d;
  for (const int row : rows) {
    double sum = 0;
    for (std::size_t k = 0; k < 64; ++k) {
      sum += value(a, static_cast<std::size_t>(row) * 64 + k) * value(b, 7 * 64 + k);
    }
    d.push_back(sum);
  }
  EXPECT_EQ(check_bound(data, rows, columns, d, "f32").mismatches, 0U);
  d[1] += 0.01;
  const GemmCheck off = check_bound(data, rows, columns, d, "f32");
  EXPECT_EQ(off.mismatches, 1U);
  EXPECT_NEAR(off.worst_error, 0.01, 1e-6);
  EXPECT_LT(off.bound, 0.01);
  d[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(check_bound(data, rows, columns, d, "f32").mismatches, 1U);
}

TEST(Shapes, OfTheKitAreReadAndBadOnesRefused) {
  const std::filesystem::path kit = std::filesystem::path(SPTC_SOURCE_DIR) / "tests/hardware";
  const auto shapes = read_gemm_shapes(kit / "shapes.csv");
  EXPECT_EQ(read_gemm_shapes(kit / "pair_shapes.csv").size(), 12U);
  EXPECT_GE(shapes.size(), 10U);
  EXPECT_EQ(shapes[2].name, "bert_large batch=8: attn.qkv");
  for (const GemmShape& shape : shapes) {
    EXPECT_NO_THROW(GemmData(mma::gemm_instruction(numerics::DataType::kS8, true), {16, 8, shape.k, "k"}, false, 1));
  }
  const support::TemporaryDirectory directory;
  const auto refuse = [&](const std::string& text, const std::string& message) {
    const auto file = directory.path() / "shapes.csv";
    std::ofstream(file) << text;
    support::expect_input_error([&] { read_gemm_shapes(file); }, {message});
  };
  refuse("a,b\n", "the header must be 'm,n,k,name'");
  refuse("m,n,k,name\n", "holds no shape");
  refuse("m,n,k,name\n1,2,x,y\n", "line 2: 'x' must be an integer");
  refuse("m,n,k,name\n1,2,3\n", "line 2: the name is missing");
  refuse("m,n,k,name\n1,2,-3,y\n", "'-3' must be an integer");
  support::expect_input_error(
      [] {
        GemmData(mma::gemm_instruction(numerics::DataType::kF16, false), {8, 8, 6, "x"}, true, 1);
      },
      {"k a multiple of 4"});
}

}  // namespace
}  // namespace sptc::hardware
