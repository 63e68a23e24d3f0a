// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/cuda/clock_probe.h"

namespace sptc::hardware {
namespace {

constexpr long long kLongestNanoseconds = 5'000'000'000;
constexpr long long kShortestNanoseconds = 50'000;

__device__ long long nanoseconds() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

/// The moment at which the clock of nanoseconds ticks next.
__device__ ClockCount tick() {
  const long long since = nanoseconds();
  long long now = since;
  while (now == since) {
    now = nanoseconds();
  }
  return {clock64(), now};
}

/// Claim: between the marks 1 and 2 its SM counts `cycles` in `nanoseconds`, from tick to tick.
__global__ void watch_clock(const volatile unsigned char* mark, ClockCount* count) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  const long long started = nanoseconds();
  while (*mark < 1 && nanoseconds() - started < kLongestNanoseconds) {
    __nanosleep(200);
  }
  const ClockCount first = tick();
  while (*mark < 2 && nanoseconds() - started < kLongestNanoseconds) {
    __nanosleep(200);
  }
  const ClockCount last = tick();
  *count = {last.cycles - first.cycles, last.nanoseconds - first.nanoseconds};
#endif
}

}  // namespace

ClockProbe::ClockProbe() : mark_(1), count_(1) {
  mark_.fill(0);
  count_.fill(0);
  SPTC_CUDA(cudaDeviceSynchronize());
  SPTC_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  watch_clock<<<1, 1, 0, stream_>>>(mark_.get(), count_.get());
  SPTC_CUDA(cudaGetLastError());
}

ClockProbe::~ClockProbe() {
  cudaMemset(mark_.get(), 2, 1);  // where nobody ended it
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
}

void ClockProbe::mark(int value, cudaStream_t stream) const {
  SPTC_CUDA(cudaMemsetAsync(mark_.get(), value, 1, stream));
}

std::optional<double> ClockProbe::mhz() const {
  SPTC_CUDA(cudaStreamSynchronize(stream_));
  ClockCount count{};
  count_.download(&count);
  if (count.nanoseconds < kShortestNanoseconds) {
    return std::nullopt;
  }
  return 1e3 * static_cast<double>(count.cycles) / static_cast<double>(count.nanoseconds);
}

}  // namespace sptc::hardware
