// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sptc::energy {

/// What costs energy each time it happens. Powers that flow all the time are StaticPower.
enum class Event {
  kMultiply,           ///< one product of an element of A and one of B
  kAlignAdd,           ///< one product aligned to the largest exponent and added to the sum
  kRound,              ///< one sum normalised and rounded into the accumulator
  kOperandSelect,      ///< one element of B picked by metadata
  kOperandLatch,       ///< one byte of an operand driven to a multiplier and held there
  kMetadataRead,       ///< one byte of sparsity metadata read from the register file
  kRegisterRead,       ///< one byte
  kRegisterWrite,      ///< one byte
  kSharedMemoryRead,   ///< one byte, crossbar included
  kSharedMemoryWrite,  ///< one byte, crossbar included
  kL2Access,           ///< one byte read from or written to the L2 arrays
  kInterconnect,       ///< one byte between an SM and the L2
  kHbmAccess,          ///< one byte between the L2 and HBM: controller, interface, DRAM
  kInstructionIssue,   ///< one warp instruction: fetch, decode, scheduling, control
  kCudaCoreFma,        ///< one multiply-add of one lane of the CUDA cores in f32
};

inline constexpr std::size_t kEventCount = 15;

/// What a number shrinks and grows with when it is carried to another process node.
enum class Scaling {
  kLogic,
  kSram,
  kWire,
  kArea,  ///< no energy
  kNone,  ///< off the chip
};

struct EventInfo {
  Event event;
  std::string_view name;  ///< as in reports: "register_read"
  std::string_view unit;  ///< of its energy: "pj", or "pj_per_byte"
  Scaling scaling;
  bool by_type;      ///< one energy per operand type
  bool core_supply;  ///< fed by the core voltage, which follows the clock
};

inline constexpr std::array<EventInfo, kEventCount> kEvents = {{
    {Event::kMultiply, "multiply", "pj", Scaling::kLogic, true, true},
    {Event::kAlignAdd, "align_add", "pj", Scaling::kLogic, true, true},
    {Event::kRound, "round", "pj", Scaling::kLogic, true, true},
    {Event::kOperandSelect, "operand_select", "pj", Scaling::kLogic, true, true},
    {Event::kOperandLatch, "operand_latch", "pj_per_byte", Scaling::kWire, false, true},
    {Event::kMetadataRead, "metadata_read", "pj_per_byte", Scaling::kSram, false, true},
    {Event::kRegisterRead, "register_read", "pj_per_byte", Scaling::kSram, false, true},
    {Event::kRegisterWrite, "register_write", "pj_per_byte", Scaling::kSram, false, true},
    {Event::kSharedMemoryRead, "shared_memory_read", "pj_per_byte", Scaling::kSram, false, true},
    {Event::kSharedMemoryWrite, "shared_memory_write", "pj_per_byte", Scaling::kSram, false, true},
    {Event::kL2Access, "l2", "pj_per_byte", Scaling::kSram, false, true},
    {Event::kInterconnect, "interconnect", "pj_per_byte", Scaling::kWire, false, true},
    {Event::kHbmAccess, "hbm", "pj_per_byte", Scaling::kNone, false, false},
    {Event::kInstructionIssue, "instruction_issue", "pj", Scaling::kLogic, false, true},
    {Event::kCudaCoreFma, "cuda_core_fma", "pj", Scaling::kLogic, false, true},
}};

constexpr std::size_t index_of(Event event) {
  return static_cast<std::size_t>(event);
}
constexpr const EventInfo& info(Event event) {
  return kEvents[index_of(event)];
}

}  // namespace sptc::energy
