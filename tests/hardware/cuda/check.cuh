// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace sptc::hardware {

/// Throws unless a call of the CUDA runtime succeeded.
inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                             cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")");
  }
}

#define SPTC_CUDA(call) ::sptc::hardware::check((call), #call, __FILE__, __LINE__)

/// After a launch: its own error, then that of its execution.
#define SPTC_CUDA_LAUNCHED()           \
  do {                                 \
    SPTC_CUDA(cudaGetLastError());     \
    SPTC_CUDA(cudaDeviceSynchronize()); \
  } while (false)

/// Memory of the GPU that frees itself; elements of a trivially copyable type.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    SPTC_CUDA(cudaMalloc(&data_, count == 0 ? sizeof(T) : count * sizeof(T)));
  }
  DeviceArray(const T* host, std::size_t count) : DeviceArray(count) { upload(host); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }  // a failure surfaces at the next checked call

  void upload(const T* host) {
    SPTC_CUDA(cudaMemcpy(data_, host, count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  void download(T* host) const {
    SPTC_CUDA(cudaMemcpy(host, data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
  }
  void fill(int byte) { SPTC_CUDA(cudaMemset(data_, byte, count_ * sizeof(T))); }

  T* get() const { return data_; }
  std::size_t count() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// A point in the GPU's work, for times between two of them.
class Event {
 public:
  Event() { SPTC_CUDA(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }

  void record(cudaStream_t stream = nullptr, unsigned flags = cudaEventRecordDefault) const {
    SPTC_CUDA(cudaEventRecordWithFlags(event_, stream, flags));
  }
  /// Waits for `later`.
  double microseconds_to(const Event& later) const {
    float milliseconds = 0;
    SPTC_CUDA(cudaEventSynchronize(later.event_));
    SPTC_CUDA(cudaEventElapsedTime(&milliseconds, event_, later.event_));
    return milliseconds * 1000.0;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace sptc::hardware
