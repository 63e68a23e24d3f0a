// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/config/config_fwd.h"
#include "sim/gpu/gpu_fwd.h"
#include "sim/kernels/operand_storage.h"

#include <optional>
#include <vector>

namespace sptc::run {

/// Executed multiply-accumulates per SM and cycle at the peak: dot units times the elements of A
/// that each takes, of f64 the multipliers. `sums`: type of the accumulators; nothing: the one that
/// GEMMs of the operands have.
double peak_macs_per_sm_and_cycle(const gpu::GpuSpec& gpu, const kernels::OperandFormat& operands,
                                  std::optional<numerics::DataType> sums = std::nullopt);

/// Dense TFLOP/s of the tensor cores at the boost clock; integers count as floats.
double peak_tflops(const gpu::GpuSpec& gpu, const kernels::OperandFormat& operands,
                   std::optional<numerics::DataType> sums = std::nullopt);

/// What tensor cores do at best with operands of one format, in TFLOP/s (TOP/s for integers).
/// Skipped zeros of sparse weights count.
struct Peak {
  kernels::OperandFormat operands;
  numerics::DataType sums = numerics::DataType::kF32;
  double dense_tflops = 0;  ///< at the boost clock
  /// Sparse TFLOP/s at the boost clock; nothing: no sparse instruction.
  std::optional<double> sparse_tflops = std::nullopt;
  /// Clocks [MHz] that the power limit leaves a large GEMM; nothing: not known.
  std::optional<double> dense_clock_mhz = std::nullopt, sparse_clock_mhz = std::nullopt;

  /// What a data sheet prints, of two figures first: the sparse one.
  double printed_tflops() const { return sparse_tflops.value_or(dense_tflops); }
};

/// The peak of `operands`; nothing where the tensor cores of `gpu` multiply none.
std::optional<Peak> peak_of(const gpu::GpuSpec& gpu, const kernels::OperandFormat& operands,
                            std::optional<numerics::DataType> sums = std::nullopt);

/// Peaks of all types that `gpu` has, with f16 sums and with scales of mxfp8 where those have a
/// rate of their own.
std::vector<Peak> peaks_of(const gpu::GpuSpec& gpu);

/// Peaks of a board at its boost clock, and at its power limit.
struct BoardPeaks {
  std::vector<Peak> peaks;
  double boost_clock_mhz = 0;
  std::optional<double> power_limit_w;  ///< nothing: not known
};

/// The peaks of `architecture`, with the clocks of a GEMM of random operands whose extents are
/// 8192: in closed form, with the kernels of its library.
BoardPeaks board_peaks(const config::Architecture& architecture);

}  // namespace sptc::run
