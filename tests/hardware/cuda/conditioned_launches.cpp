// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/cuda/conditioned_launches.h"

#include "tests/hardware/cuda/check.cuh"
#include "tests/hardware/cuda/clock_probe.h"
#include "tests/hardware/cuda/nvml.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace sptc::hardware {
namespace {

/// The board rests before each measurement: its clock and power begin alike.
constexpr std::chrono::milliseconds kRest(50);
constexpr std::chrono::milliseconds kSampling(5);

class Stream {
 public:
  Stream() { SPTC_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }

  cudaStream_t get() const { return stream_; }
  void wait() const { SPTC_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What `queue` puts into the stream, as a graph that can be launched.
class Graph {
 public:
  Graph(const Stream& stream, const std::function<void()>& queue) {
    SPTC_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    try {
      queue();
    } catch (...) {
      if (cudaStreamEndCapture(stream.get(), &graph_) == cudaSuccess) {
        cudaGraphDestroy(graph_);
      }
      cudaGetLastError();  // what the capture left behind is no error of the next call
      throw;
    }
    SPTC_CUDA(cudaStreamEndCapture(stream.get(), &graph_));
    SPTC_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
    SPTC_CUDA(cudaGraphUpload(executable_, stream.get()));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable_ != nullptr) {
      cudaGraphExecDestroy(executable_);
    }
    cudaGraphDestroy(graph_);
  }

  void launch(const Stream& stream) const { SPTC_CUDA(cudaGraphLaunch(executable_, stream.get())); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

/// More than the L2 holds.
std::size_t flush_bytes() {
  int device = 0;
  int l2 = 0;
  SPTC_CUDA(cudaGetDevice(&device));
  SPTC_CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  return 2 * static_cast<std::size_t>(l2);
}

/// Events before and after each of some launches.
class EventPairs {
 public:
  explicit EventPairs(int count) : starts_(static_cast<std::size_t>(count)), stops_(static_cast<std::size_t>(count)) {}

  const Event& start(int i) const { return starts_[static_cast<std::size_t>(i)]; }
  const Event& stop(int i) const { return stops_[static_cast<std::size_t>(i)]; }
  std::vector<double> microseconds() const {
    std::vector<double> times;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      times.push_back(starts_[i].microseconds_to(stops_[i]));
    }
    return times;
  }

 private:
  std::vector<Event> starts_, stops_;
};

class Launches {
 public:
  Launches(const QueueLaunch& queue, const kernels::LaunchConditions& conditions)
      : queue_(queue),
        conditions_(conditions),
        cold_(conditions.l2.kind == kernels::L2State::Kind::kCold),
        weights_(static_cast<std::size_t>(conditions.l2.weights)) {
    if (cold_) {
      flush_ = std::make_unique<DeviceArray<std::uint8_t>>(flush_bytes());
    }
  }

  TimedLaunches time(const kernels::Repetition& repetition) {
    rest();
    const bool eager_host = conditions_.launch == kernels::LaunchMode::kEager;
    TimedLaunches result = eager_host ? eager(repetition) : queued(repetition);
    if (const std::optional<double> clock = clock_of_the_same(repetition, eager_host)) {
      result.clock_mhz = clock;
    }
    return result;
  }

 private:
  static void rest() {
    SPTC_CUDA(cudaDeviceSynchronize());
    std::this_thread::sleep_for(kRest);
  }

  /// The same launches once more, those of a graph from the stream, and without their time: the
  /// probe may take an SM from them.
  std::optional<double> clock_of_the_same(const kernels::Repetition& repetition, bool eager_host) {
    rest();
    const ClockProbe probe;
    const auto launch = [&](int count) {
      for (int i = 0; i < count; ++i) {
        queue(1, nullptr, false);
        if (eager_host) {
          stream_.wait();
        }
      }
    };
    launch(repetition.warmup);
    probe.begin(stream_.get());
    launch(repetition.repeat);
    probe.end(stream_.get());
    stream_.wait();
    return probe.mhz();
  }

  /// `count` launches; `events`: around each.
  void queue(int count, const EventPairs* events, bool in_graph) {
    const unsigned flags = in_graph ? cudaEventRecordExternal : cudaEventRecordDefault;
    for (int i = 0; i < count; ++i) {
      flush();
      if (events != nullptr) {
        events->start(i).record(stream_.get(), flags);
      }
      queue_(static_cast<std::size_t>(i) % weights_, stream_.get());
      if (events != nullptr) {
        events->stop(i).record(stream_.get(), flags);
      }
    }
  }
  void flush() {
    if (cold_) {
      SPTC_CUDA(cudaMemsetAsync(flush_->get(), 0, flush_->count(), stream_.get()));
    }
  }

  /// Launches that the host does not wait for.
  TimedLaunches queued(const kernels::Repetition& repetition) {
    const EventPairs around_each(cold_ ? repetition.repeat : 0);
    const EventPairs around_all(1);
    const EventPairs* const events = cold_ ? &around_each : nullptr;
    std::unique_ptr<Graph> warmup;
    std::unique_ptr<Graph> timed;
    if (conditions_.launch == kernels::LaunchMode::kGraph) {
      if (repetition.warmup > 0) {
        warmup = std::make_unique<Graph>(stream_, [&] { queue(repetition.warmup, nullptr, true); });
      }
      timed = std::make_unique<Graph>(stream_, [&] { queue(repetition.repeat, events, true); });
      stream_.wait();
    }
    if (warmup) {
      warmup->launch(stream_);
    } else if (!timed) {
      queue(repetition.warmup, nullptr, false);
    }
    PowerSampler sampler(kSampling);
    around_all.start(0).record(stream_.get());
    if (timed) {
      timed->launch(stream_);
    } else {
      queue(repetition.repeat, events, false);
    }
    around_all.stop(0).record(stream_.get());
    stream_.wait();
    TimedLaunches result = with_power(sampler);
    result.us = cold_ ? around_each.microseconds()
                      : std::vector{around_all.microseconds().front() / std::max(1, repetition.repeat)};
    return result;
  }

  TimedLaunches eager(const kernels::Repetition& repetition) {
    const auto once = [&](int i) {
      flush();
      stream_.wait();
      const auto start = std::chrono::steady_clock::now();
      queue_(static_cast<std::size_t>(i) % weights_, stream_.get());
      stream_.wait();
      return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    };
    for (int i = 0; i < repetition.warmup; ++i) {
      once(i);
    }
    PowerSampler sampler(kSampling);
    std::vector<double> us;
    for (int i = 0; i < repetition.repeat; ++i) {
      us.push_back(once(i));
    }
    TimedLaunches result = with_power(sampler);
    result.us = std::move(us);
    return result;
  }

  static TimedLaunches with_power(PowerSampler& sampler) {
    const PowerMeans means = means_after(sampler.stop(), 0);
    return {{}, means.power_w, means.clock_mhz};
  }

  const QueueLaunch& queue_;
  kernels::LaunchConditions conditions_;
  bool cold_;
  std::size_t weights_;
  Stream stream_;
  std::unique_ptr<DeviceArray<std::uint8_t>> flush_;
};

}  // namespace

TimedLaunches time_launches(const QueueLaunch& queue, const kernels::LaunchConditions& conditions,
                            const kernels::Repetition& repetition) {
  return Launches(queue, conditions).time(repetition);
}

}  // namespace sptc::hardware
