// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/tensor_core/tensor_core.h"

#include <systemc>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

namespace sptc::tensor_core {

/// Shows one element of D, (row 0, column 0) of every fragment, on its way through a tensor core,
/// as signals of a VCD file: the metadata of its row, which rows of B it selects, the operands that
/// meet, their products and largest exponent, the aligned addends and their sum, the rounded word.
/// A signal changes when its stage has worked and holds until the stage works again. Groups and
/// products that an instruction does not have show zero.
class TensorCoreWaveform {
 public:
  /// Adds the signals of `core` to `file` under `prefix`. Both must outlive the simulation.
  TensorCoreWaveform(sc_core::sc_trace_file* file, TensorCore& core, const std::string& prefix);

  /// The result on its way to the register file; that wire belongs to the sub-partition.
  void show_result(const MmaDoneToken& token);

  TensorCoreWaveform(const TensorCoreWaveform&) = delete;
  TensorCoreWaveform& operator=(const TensorCoreWaveform&) = delete;

 private:
  static constexpr std::size_t kProducts = mma::kMaxStepProducts;

  /// Signals that every stage has: which instruction and step it works on.
  struct StageSignals {
    std::uint64_t instruction = 0;
    std::int32_t step = 0;
    bool sparse = false;
  };

  void trace(sc_core::sc_trace_file* file, const std::string& prefix);
  static void set(StageSignals& stage, const MmaIssue& issue, int step);

  StageSignals fetch_, select_, multiply_, add_, round_;
  std::array<std::uint8_t, kProducts> metadata_{};      ///< nibbles of the row's groups
  std::array<std::uint8_t, kProducts> selected_row_{};  ///< row of B that each multiplier got
  std::array<std::int32_t, kProducts> a_{}, b_{};       ///< significands that meet
  std::array<std::int32_t, kProducts> product_{}, product_exponent_{};
  std::int32_t max_exponent_ = 0;
  std::array<std::int32_t, kProducts + 1> addend_{};  ///< the last one is the accumulator
  std::int64_t sum_ = 0;
  std::uint32_t word_ = 0;
};

/// Blanks the date that SystemC writes into a VCD file, so that equal runs leave equal files.
void remove_date(const std::filesystem::path& vcd_file);

}  // namespace sptc::tensor_core
