// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace sptc::base {

/// Memory that lets an elaboration come to its end. SystemC 2.3 leaves its tables of names broken
/// where an allocation within them fails, and the destructors of what was built so far then crash.
/// While a reserve lives, the first allocation of the process that fails takes it and is tried
/// again. One lives at a time, as one elaboration does.
class ElaborationReserve {
 public:
  /// Throws std::bad_alloc.
  ElaborationReserve() : block_(std::malloc(kBytes)) {
    if (block_ == nullptr) {
      throw std::bad_alloc();
    }
    current().store(this);
    outside_ = std::set_new_handler(take);
  }
  ~ElaborationReserve() { give_back(); }
  ElaborationReserve(const ElaborationReserve&) = delete;
  ElaborationReserve& operator=(const ElaborationReserve&) = delete;

  /// Everything is built. Throws std::bad_alloc where that took the reserve.
  void end() {
    give_back();
    if (taken_) {
      throw std::bad_alloc();
    }
  }

 private:
  /// Twice what the SMs of the largest GPU take.
  static constexpr std::size_t kBytes = std::size_t{64} << 20;

  static std::atomic<ElaborationReserve*>& current() {
    static std::atomic<ElaborationReserve*> reserve = nullptr;
    return reserve;
  }

  static void take() {
    ElaborationReserve* const reserve = current().load();
    void* const block = reserve == nullptr ? nullptr : reserve->block_.exchange(nullptr);
    if (block == nullptr) {
      throw std::bad_alloc();
    }
    reserve->taken_ = true;
    std::free(block);
  }

  void give_back() {
    if (current().load() == this) {
      std::set_new_handler(outside_);
      current().store(nullptr);
    }
    std::free(block_.exchange(nullptr));
  }

  std::atomic<void*> block_;
  std::atomic<bool> taken_ = false;
  std::new_handler outside_ = nullptr;
};

}  // namespace sptc::base
