// SPDX-License-Identifier: Apache-2.0
#include "sim/run/microbench/memory_bench.h"

#include "sim/base/run_events.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sptc::run::microbench {
namespace {

constexpr std::int64_t kWord = 8;

/// A step that visits every one of `slots` places, far from the last one.
std::int64_t scattered_step(std::int64_t slots) {
  constexpr std::int64_t kPrime = 9973;
  constexpr std::int64_t kOtherPrime = 10007;
  return slots % kPrime == 0 ? kOtherPrime : kPrime;
}

/// All SMs walk over the footprint together: whichever is free takes the next block. Within windows
/// of 1024 blocks the order is scattered, another one in each round, so that an SM, and with it a
/// partition of the L2, meets other blocks every time: as where CTAs go to the SM that is free.
struct Walk {
  static constexpr std::int64_t kBlock = base::CacheTags::kBlockBytes;
  static constexpr int kUnderWay = 64;  ///< transactions of an SM

  BandwidthOperation operation;
  std::int64_t blocks;  ///< of the footprint; of a copy, of each half
  // Answers to all SMs before the measurement begins and when it ends; after it as many are asked
  // for as are under way, so that it ends with all SMs at work.
  std::int64_t warm, measured;
  std::vector<std::int64_t> to_write;  ///< per SM: what it has read of a copy; -1: nothing
  std::int64_t started = 0, answered = 0, taken = 0;
  std::int64_t begin = 0, end = 0;  ///< cycles

  Walk(BandwidthOperation which, std::int64_t footprint, std::size_t sms, int warm_rounds)
      : operation(which), blocks(footprint / kBlock / (which == BandwidthOperation::kCopy ? 2 : 1)), to_write(sms, -1) {
    const std::int64_t at_once = kUnderWay * static_cast<std::int64_t>(sms);
    const std::int64_t round = blocks * (which == BandwidthOperation::kCopy ? 2 : 1);
    warm = 4 * at_once + warm_rounds * round;
    measured = std::max(4 * at_once, round);
  }

  std::int64_t next_place() {
    constexpr std::int64_t kWindow = 1024;
    const std::int64_t window = taken / kWindow;
    // A bijection of ten bits, by the bits of a hash of the window.
    auto bits = static_cast<std::uint64_t>(taken % kWindow) ^
                ((static_cast<std::uint64_t>(window) * 0x9E3779B97F4A7C15U) >> 54);
    for (const std::uint64_t factor : {0x2C5U, 0x1B3U}) {
      bits ^= bits >> 5;
      bits = bits * factor % kWindow;
    }
    ++taken;
    return (window * kWindow + static_cast<std::int64_t>(bits ^ (bits >> 5))) % blocks;
  }

  void next(std::size_t sm, MemoryReader& reader) {
    const auto at_once = kUnderWay * static_cast<std::int64_t>(to_write.size());
    if (started >= warm + measured + at_once) {
      return;
    }
    ++started;
    // A copy reads a block, then writes its counterpart.
    bool writes = operation == BandwidthOperation::kWrite;
    std::int64_t block = 0;
    if (operation == BandwidthOperation::kCopy && to_write[sm] >= 0) {
      writes = true;
      block = blocks + std::exchange(to_write[sm], -1);
    } else {
      block = next_place();
      to_write[sm] = block;
    }
    reader.request(static_cast<std::uint64_t>(block * kBlock), kBlock, writes);
  }
};

}  // namespace

MemoryBench::MemoryBench(const base::Clock& clock, const memory::MemorySpec& spec, int sms)
    : clock_(clock), l2_bytes_(spec.l2_capacity.count()), memory_("l2_and_dram", clock, spec, sms) {
  for (int sm = 0; sm < sms; ++sm) {
    readers_.push_back(std::make_unique<MemoryReader>(("requester" + std::to_string(sm)).c_str(), clock));
    readers_.back()->socket.bind(memory_.socket(static_cast<std::size_t>(sm)));
  }
}

std::int64_t MemoryBench::at_most_four_caches(std::int64_t footprint) const {
  return std::min(footprint, 4 * l2_bytes_);
}

void MemoryBench::forget_answers() {
  for (const auto& reader : readers_) {
    reader->done.clear();
    reader->on_answer = [] {};  // it refers to what is gone after the measurement
  }
}

double MemoryBench::chase_cycles(std::int64_t footprint, std::int64_t stride) {
  if (stride < kWord || stride > footprint) {
    io::refuse("a pointer chase needs a stride from 8 bytes to its footprint, not {}", stride);
  }
  memory_.reset(clock_.mhz());
  MemoryReader& reader = *readers_.front();
  // A stride beyond four caches leaves one place, which is read over and over.
  const std::int64_t slots = std::max<std::int64_t>(1, at_most_four_caches(footprint) / stride);
  const std::int64_t step = scattered_step(slots);
  std::int64_t slot = 0;
  std::int64_t left = 2 * slots;
  std::int64_t second_round = 0;
  reader.on_answer = [&] {
    if (--left == 0) {
      return;
    }
    second_round = left == slots ? clock_.now() : second_round;
    slot = (slot + step) % slots;
    reader.request(static_cast<std::uint64_t>(slot * stride), kWord);
  };
  reader.request(0, kWord);
  base::run_events();
  forget_answers();
  return static_cast<double>(clock_.now() - second_round) / static_cast<double>(slots);
}

double MemoryBench::line_cycles() {
  memory_.reset(clock_.mhz());
  double cycles = 0;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const auto& reader : readers_) {
      const std::int64_t start = clock_.now();
      reader->request(0, kWord);
      base::run_events();
      cycles = static_cast<double>(clock_.now() - start);
    }
  }
  forget_answers();
  return cycles;
}

double MemoryBench::bandwidth_gb_per_s(BandwidthOperation operation, std::int64_t footprint) {
  constexpr std::int64_t kLeast = 4 * Walk::kBlock;
  if (footprint < kLeast) {
    io::refuse("a stream needs a footprint of at least {} bytes, not {}", kLeast, footprint);
  }
  memory_.reset(clock_.mhz());
  // What the L2 keeps of a buffer somewhat larger than itself settles in a few rounds.
  const int warm_rounds = footprint < 2 * l2_bytes_ ? 4 : 1;
  Walk walk(operation, at_most_four_caches(footprint), readers_.size(), warm_rounds);
  for (std::size_t sm = 0; sm < readers_.size(); ++sm) {
    MemoryReader& reader = *readers_[sm];
    reader.on_answer = [this, &walk, &reader, sm] {
      ++walk.answered;
      walk.begin = walk.answered == walk.warm ? clock_.now() : walk.begin;
      walk.end = walk.answered == walk.warm + walk.measured ? clock_.now() : walk.end;
      walk.next(sm, reader);
    };
    for (int i = 0; i < Walk::kUnderWay; ++i) {
      walk.next(sm, reader);
    }
  }
  base::run_events();
  forget_answers();
  return static_cast<double>(walk.measured * Walk::kBlock) / static_cast<double>(walk.end - walk.begin) * clock_.mhz() *
         1e-3;
}

}  // namespace sptc::run::microbench
