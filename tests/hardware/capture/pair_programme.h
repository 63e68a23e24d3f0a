// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "models/numerics/data_type.h"
#include "sim/kernels/launch_conditions.h"
#include "tests/hardware/capture/capture_writer.h"
#include "tests/hardware/capture/device.h"
#include "tests/hardware/capture/timing_device.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::hardware {

/// Which pairs of a dense and a 2:4 GEMM of one shape are timed, and under which conditions. The
/// first entry of each list is the usual one.
struct PairProgramme {
  std::vector<numerics::DataType> dtypes;    ///< of the operands
  std::vector<numerics::DataType> d_dtypes;  ///< empty: result_types() of each type
  std::vector<kernels::L2State> l2;
  std::vector<kernels::LaunchMode> launches;
  std::vector<kernels::Algorithm> algorithms;
  kernels::Repetition repetition;
  std::filesystem::path shapes;  ///< tests/hardware/pair_shapes.csv
  std::uint64_t seed = 0;
  /// The first five shapes, and conditions of which at most one is not the first of its list.
  bool quick = false;
  std::chrono::duration<double> time{};  ///< no pair begins after it
};

/// The instruction of the own kernel for a choice: it also decides the operands of the libraries.
mma::MmaInstruction instruction_of(const GemmChoice& choice);

/// Types that the D of a GEMM may have, that of the simulator's default first.
std::vector<numerics::DataType> result_types(numerics::DataType dtype);

/// One point of a programme, for one type of operands.
struct PairPoint {
  numerics::DataType d_dtype;
  kernels::LaunchConditions conditions;

  bool operator==(const PairPoint&) const = default;
};
/// The points of `dtype`: those with the same D and algorithm follow each other.
std::vector<PairPoint> pair_points(const PairProgramme& programme, numerics::DataType dtype);

/// The header of pairs.csv.
inline constexpr std::string_view kPairColumns =
    "m,n,k,dtype,sparsity,d_dtype,time_us_median,power_w,power_limit_w,clock_mhz,l2,launch,"
    "algorithm,warmup,repeat,source";

/// Items "pairs/own", "pairs/wgmma" and "pairs/libraries"; pairs.csv. They share the time equally.
void capture_pairs(CaptureWriter& writer, const PairProgramme& programme, Device& device);

}  // namespace sptc::hardware
