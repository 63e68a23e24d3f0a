// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sptc::hardware {

// One function per kernel of memory_bench.cu. Cycles are of the SM clock; all throw
// std::runtime_error where the GPU reports an error.

/// Cycles of `rounds` rounds of `ilp` dependent chains of ldmatrix.x1, .x2 or .x4 (`matrices` 1, 2,
/// 4) by `warps` warps of one block, without bank conflicts.
long long ldmatrix_cycles(int matrices, int warps, int ilp, int rounds);

/// Cycles of `rounds` dependent ld.shared.u32 of one warp in which `ways` lanes meet in each bank.
long long ld_shared_cycles(int ways, int rounds);

/// Cycles of `rounds` rounds in which `threads` threads each issue `in_flight` cp.async of `bytes`
/// bytes from lines in L2 and wait for them.
long long cp_async_cycles(int bytes, int threads, int in_flight, int rounds);

/// Cycles of `rounds` rounds in which one thread issues `in_flight` bulk copies (TMA) of `bytes`
/// bytes from global to shared memory and waits for them. sm_90 on.
long long tma_cycles(int bytes, int in_flight, int rounds);

/// Mean cycles of a dependent load in a chase of random order over `footprint` bytes with one word
/// per `stride` bytes; `through_l1`: ld.global.ca, else .cg.
double chase_cycles(std::size_t footprint, std::size_t stride, bool through_l1);

/// Cycles of one dependent load, from L2: [sm][line] for `lines` lines that lie 64 KiB + 128 bytes
/// apart, least of several loads. One entry per SM that ran the block.
struct L2Line {
  int sm, line;
  double cycles;
};
std::vector<L2Line> l2_line_cycles(int lines);

/// Times in microseconds of `launches` launches that read, write or copy `footprint` bytes with all
/// SMs, 16 bytes per thread and access.
enum class BandwidthOperation { kRead, kWrite, kCopy };
std::vector<double> bandwidth_us(BandwidthOperation operation, std::size_t footprint, int launches);

}  // namespace sptc::hardware
