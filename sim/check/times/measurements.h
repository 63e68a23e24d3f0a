// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/kernels/kernel_overrides.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/kernels/operand_storage.h"
#include "sim/workload/operands.h"
#include "sim/workload/workload.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sptc::check::times {

/// A launch that was measured: what it computes, and under which conditions.
struct MeasuredLaunch {
  base::GemmShape shape;
  numerics::DataType dtype = numerics::DataType::kF16;
  std::optional<sparsity::WeightPattern> pattern;  ///< of A; nothing: dense
  std::optional<numerics::DataType> d_dtype;       ///< nothing: as GemmProblem says
  kernels::LaunchConditions conditions;
  std::optional<kernels::Repetition> repetition;
  workload::DataKind operands = workload::DataKind::kRandom;
  std::optional<kernels::KernelOverrides> kernel;  ///< that ran, as a profiler recorded it
  std::optional<double> clock_mhz;                 ///< at which the SMs were held
  std::optional<double> power_limit_w;             ///< of the board
  int scale_block = 0;                             ///< elements along K that share a scale; 0: none

  /// "dense", "2:4", "64:2:8".
  std::string sparsity() const { return pattern ? pattern->name() : "dense"; }
  /// "L2 cold, launch stream, algorithm default, D f32, 25 warm-ups and 50 launches, 300 W".
  std::string conditions_text() const;
  numerics::DataType type_of_d() const;
  kernels::OperandFormat format() const { return {dtype, scale_block}; }
  /// What a sparse launch has in common with the dense one that it is compared with: each has its library, layout, type
  /// of D, clock and number of launches.
  auto gain_key() const {
    return std::tuple(shape.m, shape.n, shape.k, format(), conditions.l2, conditions.launch, operands, power_limit_w);
  }
  /// Whether a gain may rest on it: a dense launch whose sums of 8-bit floats are promoted is no counterpart of a
  /// sparse one, whose sums are not.
  bool makes_gain() const { return pattern || conditions.fp8_accumulation != kernels::Fp8Accumulation::kPromoted; }

  /// All that tells it from other launches.
  auto key() const {
    return std::tuple(shape.m, shape.n, shape.k, format(), sparsity(), d_dtype, conditions, repetition, operands,
                      kernel, clock_mhz, power_limit_w);
  }
};

struct Measurement {
  MeasuredLaunch launch;
  double time_us = 0;
  std::optional<double> power_w;  ///< mean of the board
  std::string source;             ///< as the file says; may be empty
  std::int64_t line = 0;          ///< of the file
};

struct Prediction {
  double time_us = 0;
  double launch_us = 0;  ///< part of it that no SM has a part in
  double clock_mhz = 0;
  std::optional<double> power_w;  ///< mean over the launch; nothing without energies
  base::GemmShape cta_tile;       ///< of the kernel that was taken; k is logical
  int split_k = 1;
  int cluster_ctas = 1;
  std::array<std::int64_t, 3> bytes{};  ///< of DRAM, L2 and shared memory
};

/// What holds of a row that does not say otherwise.
struct MeasurementDefaults {
  MeasuredLaunch launch;  ///< but its shape and pattern
  bool sparse = false;    ///< the hardware's pattern for the type of the row
};

/// Reads CSV whose header names the columns. `m`, `n`, `k` and `time_us_median` must be among them. `dtype`, `sparsity`
/// (dense, 2:4, ...), `d_dtype`, `l2` (cold, warm, rotate:N), `launch` (stream, graph, eager), `algorithm` (heuristic,
/// best), `warmup` and `repeat`, `operands` (random, zeros, ...), `clock_mhz`, `power_limit_w`, `power_w`, `batch` (1)
/// and `source` may be, `layout` (OperandLayout; of D alone for dense rows), `alg` (of dense 8-bit floats fast or
/// promoted) and the columns of KernelFields; an empty field says nothing. The names of other columns are added to
/// `ignored`, if there is one. Throws InputError "file:line: ...".
std::vector<Measurement> read_measurements(const std::filesystem::path& path, const MeasurementDefaults& defaults = {},
                                           std::vector<std::string>* ignored = nullptr);

/// The same from text; `file` is for messages.
std::vector<Measurement> parse_measurements(std::string_view text, const std::string& file,
                                            const MeasurementDefaults& defaults = {},
                                            std::vector<std::string>* ignored = nullptr);

/// The launches of a recording as measurements, one for each kind of launch. What a measurement cannot say (several
/// batches, a convolution) is left out and said in `notes`. Throws InputError where no time is left.
std::vector<Measurement> recorded_measurements(const workload::Workload& workload, const std::string& file,
                                               const MeasurementDefaults& defaults, std::vector<std::string>& notes);

/// What a profiler says of the kernel of a launch, as columns of a file of measured times have it; empty where it says
/// nothing.
struct KernelFields {
  std::string_view tile = {};     ///< "112x128x64": m, n and logical k of a CTA
  std::string_view cluster = {};  ///< "2x1"
  std::string_view stages = {};
  std::string_view notes = {};             ///< "sm80 mma.sync", "segment_k", nvjet's "v_bz_coopA_splitK_TNN"
  std::string_view grid = {}, block = {};  ///< "2x64x1"
};

/// The kernel of `fields` for D[m, n], to be simulated; nothing where they have no tile. Throws InputError for numbers
/// that are none.
std::optional<kernels::KernelOverrides> recorded_kernel(const KernelFields& fields, const base::GemmShape& shape);

}  // namespace sptc::check::times
