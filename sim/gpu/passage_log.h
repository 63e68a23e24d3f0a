// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "sim/gpu/observer.h"
#include "sim/hardware/memory/memory_bytes.h"
#include "sim/hardware/sm/sm.h"
#include "sim/hardware/tensor_core/tensor_core.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sptc::gpu {

/// The instruction that a kernel executes, from the cycle of its first one on.
struct LoggedKernel {
  mma::MmaInstruction instruction;
  std::int64_t begin = 0;
};

/// One matrix instruction on its way through a tensor core.
struct LoggedMma {
  int partition = 0, warp_slot = 0;
  int accumulator = 0;  ///< first register of D
  std::size_t kernel = 0;
  std::int64_t issued = 0;
  std::int64_t done = -1;  ///< -1: not before the end of the log
  std::vector<tensor_core::StageWork> stages;
};

/// What a tensor core or a warp does or waits for in the cycles [begin, end).
struct LoggedStall {
  int partition = 0;
  int warp_slot = -1;  ///< -1: the tensor core
  std::int64_t begin = 0, end = 0;
  std::string_view reason;  ///< of a table that lives for ever
};

/// A part of a k-tile on its way to the SM.
struct LoggedCopy {
  int partition = 0, warp_slot = 0;
  std::string_view operand;
  std::int64_t cta = 0, tile = 0;
  std::int64_t begin = 0, end = -1;  ///< -1: not before the end of the log
  std::string_view waited_for;       ///< what took longest
};

/// Cycles [begin, end) in which L2 or DRAM move what SMs asked for.
struct LoggedBusy {
  enum class Unit : std::uint8_t { kL2, kDram };
  Unit unit = Unit::kL2;
  std::int64_t begin = 0, end = 0;
};

/// Bytes of all SMs in kMemoryBin cycles from `begin` on, which is a multiple of them.
struct LoggedBytes {
  std::int64_t begin = 0;
  std::int64_t l2 = 0, dram_read = 0, dram_written = 0;
};
inline constexpr std::int64_t kMemoryBin = 64;

/// Which stage of the tensor cores of the first SM works on which instruction in which cycle, what
/// they and the warps wait for, which copies are under way, and what L2 and DRAM move for all SMs.
/// What begins in the window is logged.
class PassageLog : public Observer {
 public:
  explicit PassageLog(const LogWindow& window) : window_(window) {}

  void attach(Gpu& gpu) override;
  std::string_view name() const override { return "timeline"; }

  const std::vector<LoggedMma>& instructions() const { return instructions_; }
  /// Kernels in the order in which they ran, such as the dense one and the sparse one of a GEMM.
  const std::vector<LoggedKernel>& kernels() const { return kernels_; }
  const std::vector<LoggedStall>& stalls() const { return stalls_; }
  const std::vector<LoggedCopy>& copies() const { return copies_; }
  const std::vector<LoggedBusy>& memory_busy() const { return memory_busy_; }
  const std::vector<LoggedBytes>& memory_bytes() const { return memory_bytes_; }

 private:
  void observe_core(int number, const base::Clock& clock, sm::SubPartition& partition);
  void observe_stalls(int number, sm::SubPartition& partition);
  /// Logs copies of k-tiles, and loads to registers that take their place.
  void observe_copies(const base::Clock& clock, sm::Sm& sm);
  void add_stall(const LoggedStall& stall);
  void add_memory(std::int64_t now, const memory::MemoryActivity& activity);
  void add_busy(LoggedBusy::Unit unit, std::int64_t begin, std::int64_t end);

  LogWindow window_;
  std::vector<LoggedKernel> kernels_;
  std::vector<LoggedMma> instructions_;
  std::vector<LoggedStall> stalls_;
  std::vector<LoggedCopy> copies_;
  std::vector<LoggedBusy> memory_busy_;
  std::vector<LoggedBytes> memory_bytes_;
  std::array<std::optional<std::size_t>, 2> latest_busy_;           ///< of a unit
  std::map<std::pair<int, std::uint64_t>, std::size_t> under_way_;  ///< of a partition and id
  /// Places in copies_ of what is under way, by partition, warp slot and group.
  std::map<std::tuple<int, int, int>, std::deque<std::size_t>> copying_;
  memory::MemoryBytes moved_;                                ///< by the latest transaction of the grid
  std::map<std::pair<int, int>, std::size_t> latest_stall_;  ///< of a partition and warp slot
};

}  // namespace sptc::gpu
