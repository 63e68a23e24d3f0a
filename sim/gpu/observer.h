// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace sptc::gpu {

class Gpu;

/// The cycles [first, last) that an observer keeps.
struct LogWindow {
  std::int64_t first = 0, last = 20'000;
  bool has(std::int64_t cycle) const { return first <= cycle && cycle < last; }
};

/// Looks into a GPU while it simulates, and changes nothing: a waveform, a log, a count of one's
/// own.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  /// Asks `gpu` to be told of what it wants to see: of the stages of a tensor core
  /// (tensor_core::TensorCore::observe) or each of its tokens (base::Wire::add_tap), of what tensor
  /// cores and warps do or wait for (sm::StallCounters::observe, sm::SubPartition::observe_warps),
  /// of copies (sm::Sm::tap_copies), of L2 and DRAM (Gpu::observe_memory). Called before the first
  /// launch; it must outlive the last one.
  virtual void attach(Gpu& gpu) = 0;

  /// What it makes, for the sentence that refuses it: "waveform".
  virtual std::string_view name() const = 0;
};

}  // namespace sptc::gpu
