// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::hardware {

/// Executions of one matrix instruction, one per case. Registers stand as [case][register][lane] in
/// 32-bit words, 64-bit registers low word first; wgmma has 128 lanes, and its A and B are the
/// bytes of the tiles in shared memory (operand_image.h).
struct MmaLaunch {
  std::string ptx;  ///< MmaInstruction::ptx_name()
  int selector = 0;
  std::size_t cases = 0;
  std::vector<std::uint32_t> a, b, c;
  std::vector<std::uint32_t> metadata;  ///< [case][lane]; sparse only
  std::size_t d_words = 0;              ///< of all cases
  std::uint32_t poison = 0;             ///< fills D before the launch
};

/// What capture.json says about the GPU; nothing where it is not known.
struct DeviceInfo {
  std::string name;
  std::string target;  ///< "sm_80", "sm_90a"
  std::string compute_capability;
  std::optional<int> sm_count;
  std::optional<double> boost_clock_mhz, memory_clock_mhz;
  std::optional<double> l2_bytes, memory_bytes;
  std::optional<double> power_limit_w;
  std::optional<std::string> driver, cuda;
};

class TimingDevice;

/// What executes matrix instructions: a GPU, or the arithmetic of models/ in its place.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  virtual bool has(const std::string& ptx) const = 0;
  /// D [case][register][lane]. Throws std::runtime_error where the GPU reports an error.
  virtual std::vector<std::uint32_t> run(const MmaLaunch& launch) = 0;

  /// Whether the device still works; after some errors a process gets nothing from its GPU any
  /// more.
  virtual bool usable() { return true; }
  /// "measured" or "simulated": where the figures come from.
  virtual std::string origin() const = 0;
  /// What measures times on it; null: nothing does.
  virtual TimingDevice* timing() { return nullptr; }
};

}  // namespace sptc::hardware
