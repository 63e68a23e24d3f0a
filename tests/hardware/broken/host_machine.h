// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/codec.h"
#include "tests/hardware/broken/tile_gemm.h"
#include "tests/hardware/capture/device.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

namespace sptc::hardware::broken {

/// One CTA on the CPU: its threads go through every part of the kernel together, and matrix
/// instructions are those of `device`. Where a kernel leaves the order to chance, it is the worst:
/// copies arrive when they are waited for, and the first warp sees what others copied only behind
/// a barrier.
class HostMachine {
 public:
  HostMachine(Device& device, std::array<int, 3> block)
      : device_(device), block_(block), memory_(kSharedBytes), of_first_warp_(kSharedBytes) {}

  template <class Lane>
  struct Threads : std::array<Lane, kThreads> {
    template <class Do>
    void each(Do&& act) {
      for (int thread = 0; thread < kThreads; ++thread) {
        act(thread, (*this)[thread]);
      }
    }
  };

  int block_x() const { return block_[0]; }
  int block_y() const { return block_[1]; }
  int block_z() const { return block_[2]; }

  void copy(int thread, int to, const std::uint8_t* from) {
    groups_.back().push_back({thread, to, {}});
    std::memcpy(groups_.back().back().bytes.data(), from, 16);
  }
  void clear(int thread, int to) { groups_.back().push_back({thread, to, {}}); }
  void store(int thread, int to, std::uint16_t word) { write(thread, to, &word, sizeof(word)); }
  void commit() { groups_.emplace_back(); }
  template <int kNewest>
  void wait() {
    while (groups_.size() > kNewest + 1) {  // the last one is not committed yet
      for (const Copy& copy : groups_.front()) {
        write(copy.thread, copy.to, copy.bytes.data(), copy.bytes.size());
      }
      groups_.erase(groups_.begin());
    }
  }
  void barrier() { of_first_warp_ = memory_; }
  void fence() {}

  template <bool kTranspose, class Lanes, class Address, class Target>
  void ldmatrix(Lanes& threads, Address address, Target target) {
    for (int thread = 0; thread < kThreads; ++thread) {
      const int first = thread / kWarp * kWarp, lane = thread % kWarp;
      for (int matrix = 0; matrix < 4; ++matrix) {
        std::uint32_t word = 0;
        for (int half = 0; half < 2; ++half) {
          const int along = lane % 4 * 2 + half, across = lane / 4;
          const int row = kTranspose ? along : across, column = kTranspose ? across : along;
          std::uint16_t element = 0;
          std::memcpy(&element, seen_by(thread) + address(first + 8 * matrix + row) + 2 * column, sizeof(element));
          word |= static_cast<std::uint32_t>(element) << (16 * half);
        }
        target(threads[thread], matrix) = word;
      }
    }
  }

  template <class Kernel, int kStep, class Lanes>
  void mma(Lanes& threads) {
    MmaLaunch launch;
    launch.ptx = Kernel::kInstruction;
    if (Kernel::kHalfSums) {
      launch.ptx = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16";
    }
    launch.selector = Kernel::selector(kStep);
    launch.cases = kThreads / kWarp * 8;
    for (int at = 0; at < kThreads / kWarp * 8; ++at) {
      const int first = at / 8 * kWarp, i = at / 4 % 2, j = at % 4;
      const auto a = [=](auto& lane) -> auto& {
        return lane.a[i];
      };
      const auto b = [=](auto& lane) -> auto& {
        return lane.b[j];
      };
      const auto c = [=](auto& lane) -> auto& {
        return lane.d[i][j];
      };
      append(launch.a, threads, first, kWarp, a);
      append(launch.b, threads, first, kWarp, b);
      append(launch.c, threads, first, kWarp, c);
      for (int lane = 0; Kernel::kSparse && lane < kWarp; ++lane) {
        launch.metadata.push_back(threads[first + lane].metadata[i]);
      }
    }
    launch.d_words = launch.c.size();
    const std::vector<std::uint32_t> d = device_.run(launch);
    constexpr int kRegisters = Kernel::kHalfSums ? 2 : 4;
    for (int at = 0; at < static_cast<int>(d.size()); ++at) {
      const int lane = at % kWarp, r = at / kWarp % kRegisters, of = at / kWarp / kRegisters;
      threads[of / 8 * kWarp + lane].d[of / 4 % 2][of % 4][r] = d[at];
    }
  }

  /// As eight instructions of n = 8 for each of n = 64.
  template <class Kernel, class Lanes>
  void wgmma(Lanes& threads, int a, int b) {
    for (int step = 0; step < 4; ++step) {
      MmaLaunch launch;
      launch.ptx = Kernel::kInstruction;
      launch.ptx.replace(launch.ptx.find("n64"), 3, "n8");
      launch.cases = 8;
      for (int j = 0; j < 8; ++j) {
        append_tile(launch.a, {kTile, 32}, a + 32 * step);
        append_tile(launch.b, {8, 32}, b + 8 * j * 128 + 32 * step);
        append(launch.c, threads, 0, kThreads, [=](auto& lane) {
          return std::array{lane.d[4 * j], lane.d[4 * j + 1], lane.d[4 * j + 2], lane.d[4 * j + 3]};
        });
      }
      launch.d_words = launch.c.size();
      const std::vector<std::uint32_t> d = device_.run(launch);
      for (std::size_t i = 0; i < d.size(); ++i) {
        threads[i % kThreads].d[i / kThreads] = d[i];
      }
    }
  }

  float float_of_bits(std::uint32_t bits) const { return std::bit_cast<float>(bits); }
  std::uint16_t half_of(float value, bool toward_zero) const {
    const auto nearest = numerics::from_double(value, numerics::DataType::kF16);
    const double rounded = numerics::to_double(nearest, numerics::DataType::kF16);
    const bool away = std::fabs(rounded) > std::fabs(value);
    return static_cast<std::uint16_t>(toward_zero && away ? nearest - 1 : nearest);
  }

 private:
  static constexpr std::size_t kSharedBytes = 36 << 10;

  struct Copy {
    int thread, to;
    std::array<std::uint8_t, 16> bytes;
  };

  void write(int thread, int to, const void* from, std::size_t bytes) {
    std::memcpy(memory_.data() + to, from, bytes);
    if (thread < kWarp) {
      std::memcpy(of_first_warp_.data() + to, from, bytes);
    }
  }
  const std::uint8_t* seen_by(int thread) const { return (thread < kWarp ? of_first_warp_ : memory_).data(); }

  /// Registers of `count` threads from `first` on as [register][thread]; `of` has those of one.
  template <class Lanes, class Of>
  static void append(std::vector<std::uint32_t>& words, Lanes& threads, int first, int count, const Of& of) {
    for (std::size_t r = 0; r < std::size(of(threads[first])); ++r) {
      for (int thread = first; thread < first + count; ++thread) {
        words.push_back(of(threads[thread])[r]);
      }
    }
  }

  /// 32 bytes of each row as wgmma reads them from `start` on with the 128-byte swizzle: bits 4 on
  /// of an address, exclusive or with those from bit 7 on (PTX ISA).
  void append_tile(std::vector<std::uint32_t>& words, const WgmmaTile& tile, int start) const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(tile.bytes()));
    for (int row = 0; row < tile.rows; ++row) {
      for (int at = 0; at < tile.row_bytes; ++at) {
        const int address = start + row * 128 + at;
        bytes[static_cast<std::size_t>(tile.offset(row, at))] =
            memory_[static_cast<std::size_t>(address ^ (address >> 7 & 7) << 4)];
      }
    }
    const std::size_t before = words.size();
    words.resize(before + bytes.size() / 4);
    std::memcpy(words.data() + before, bytes.data(), bytes.size());
  }

  Device& device_;
  std::array<int, 3> block_;
  std::vector<std::uint8_t> memory_, of_first_warp_;                           ///< shared memory
  std::vector<std::vector<Copy>> groups_ = std::vector<std::vector<Copy>>(1);  ///< of cp.async, the last one open
};

/// Computes D in `g` with the matrix instructions of `device`.
template <class Kernel>
void run_on_host(Memory& g, Device& device) {
  constexpr int kTiles = kExtent / kTile;
  for (int cta = 0; cta < kTiles * kTiles * Kernel::kSlices; ++cta) {
    HostMachine machine(device, {cta % kTiles, cta / kTiles % kTiles, cta / kTiles / kTiles});
    if constexpr (Kernel::kWgmma) {
      wgmma_gemm<Kernel>(machine, g);
    } else {
      tile_gemm<Kernel>(machine, g);
    }
  }
  if constexpr (Kernel::kSlices > 1) {
    for (int at = 0; at < kExtent * kExtent; ++at) {
      reduce<Kernel>(g, at);
    }
  }
}

}  // namespace sptc::hardware::broken
