// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/io/npz.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/kernels/gemm_problem.h"
#include "sim/kernels/kernel_result.h"
#include "sim/run/data_source.h"
#include "sim/run/run_options.h"
#include "sim/workload/workload.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sptc::run {

/// One variant of a launch and the values that pass through it.
struct LaunchValues {
  const workload::Operation& op;
  bool sparse = false;
  const kernels::KernelResult& kernel;
  const std::vector<kernels::GemmOperands>& operands;    ///< of each entry of the batch
  const std::vector<base::Matrix<numerics::Word>>* d{};  ///< [m, n] of each; null: not computed yet
};

/// SimulationOptions::save_operands and save_d: two .npz files, whose arrays have the names of the
/// launches. A launch `op` with a batch has a first axis more. Of `op` dense:
///
///   op.a        [m, k]   op.b  [k, n]   op.d  [m, n]
///   op.kernel   a kernel file ("sptcsim-kernel/0.1") as UTF-8, for `crosscheck --kernel`
///
/// and of `op` with sparse weights, where B is op.b unless K was padded with zeros to whole groups
/// and whole elements of metadata:
///
///   op.sparse.a         [m, k / 2]: the values kept (tf32: k / 2; 4 bits: k / 2)
///   op.sparse.metadata  [m, elements]: canonical, uint16 (8- and 4-bit types: uint32)
///   op.sparse.pruned_a  [m, k]: the same A with its zeros
///   op.sparse.b  [k, n]   op.sparse.d  [m, n]   op.sparse.kernel
///
/// f16, f32 and integers have their NumPy type; tf32 is float32; bf16 is the words as uint16, fp8
/// as uint8; s4 is int8. D has the type of the accumulators, or the one of
/// SimulationOptions::d_dtype, rounded to nearest even. C is zero.
class ValueFiles {
 public:
  /// Throws InputError where `options` save values that no launch has, or no file can be made.
  ValueFiles(const SimulationOptions& options, const gpu::GpuSpec& gpu);

  /// Adds a launch; computes its D where nobody did. Throws InputError.
  void add(const LaunchValues& launch);
  /// Reads the operands of a launch without simulated values, and adds it.
  void add(const workload::Operation& op, bool sparse, const kernels::KernelResult& kernel, const DataSource& data);
  /// Gives the files their names. Throws InputError.
  void commit();

 private:
  std::string unique_name(const workload::Operation& op, bool sparse);
  void add_operands(const LaunchValues& launch, const std::string& name);
  void add_kernel(const LaunchValues& launch, const std::string& name, const std::string& b_name);
  void add_d(const LaunchValues& launch, const std::string& name);

  const SimulationOptions& options_;
  const gpu::GpuSpec& gpu_;
  std::optional<io::NpzWriter> operands_, d_;
  std::set<std::string> names_;  ///< of launches
  std::string last_b_;           ///< launch whose B was written last
};

}  // namespace sptc::run
