// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/observer.h"
#include "sim/gpu/vcd_dump.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::gpu {

/// Element of D of every fragment of an instruction.
struct WaveformElement {
  int row = 0, col = 0;
};

/// Shows one element of D of every instruction on its way through the tensor cores of the first SM:
/// the metadata of its row, which rows of B it selects, the operands that meet, their products and
/// largest exponent, the aligned addends and their sum, the rounded word, and what the tensor core
/// waits for. A signal changes when its stage has worked and holds until the stage works again;
/// `valid` is high in the cycle in which a stage hands on. Groups and products that an instruction
/// does not have, and values where only time is simulated, are undefined.
class Waveform : public Observer {
 public:
  Waveform(const LogWindow& window, const WaveformElement& element) : element_(element), dump_(window) {}

  void attach(Gpu& gpu) override;
  std::string_view name() const override { return "waveform"; }

  /// Name of the operation whose instructions follow.
  void set_operation(std::string_view operation) { operation_ = operation; }

  std::string text() const { return dump_.text(period_ps_); }
  /// Save file of GTKWave: groups of the signals of `vcd_file`.
  std::string save_file(const std::string& vcd_file) const { return dump_.save_file(vcd_file, period_ps_); }

 private:
  class Partition;

  WaveformElement element_;
  VcdDump dump_;
  std::int64_t period_ps_ = 1;
  std::string operation_;
  std::vector<std::shared_ptr<Partition>> partitions_;
};

}  // namespace sptc::gpu
