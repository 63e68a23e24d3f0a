// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/timing_device.h"

#include <cstddef>
#include <vector>

namespace sptc::hardware {

// As in TimingDevice; one function per kernel of memory_bench.cu and chase_bench.cu.
long long ldmatrix_cycles(int matrices, int warps, int ilp, int rounds);
long long ld_shared_cycles(int ways, int rounds);
long long cp_async_cycles(int bytes, int threads, int in_flight, int rounds);
long long tma_cycles(int bytes, int in_flight, int rounds);
ChaseResult chase_cycles(std::size_t footprint, std::size_t stride, bool through_l1);
std::vector<L2Line> l2_line_cycles(int lines);
std::vector<double> bandwidth_gb_per_s(BandwidthOperation operation, std::size_t footprint, int launches);

}  // namespace sptc::hardware
