// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type.h"
#include "models/reference/checker.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/run/data_source.h"
#include "sim/run/run_options.h"
#include "sim/run/run_result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sptc::run {

/// The arithmetic that a GEMM kernel for one operand type is made of.
struct Arithmetic {
  mma::MmaInstruction instruction;
  mma::StepRules rules;

  /// `numerics`: a row set of models/mma/step_rules.
  Arithmetic(std::string_view numerics, numerics::DataType operand, bool sparse);
  /// Takes the accumulators of `gpu`, too.
  Arithmetic(const gpu::GpuSpec& gpu, numerics::DataType operand, bool sparse);
};

/// A seeded selection of distinct elements of D [m, n] x batch: at least 256, spread over up to
/// four batch entries, or all where there are fewer. Rows and columns are sorted.
std::vector<ElementSelection> sample_elements(const base::GemmShape& shape, std::int64_t batch, std::uint64_t seed);

/// D by the plain arithmetic, the oracle.
base::Matrix<numerics::Word> plain_gemm(const kernels::GemmOperands& operands, const Arithmetic& arithmetic);

/// D against the double-precision reference (Eigen) and the proved bound of the arithmetic.
reference::Findings check_against_reference(const kernels::GemmOperands& operands,
                                            const base::Matrix<numerics::Word>& d, const Arithmetic& arithmetic);

/// Checks the arithmetic of an operation without simulated values: elements of D at full K, by the
/// batched engine, against the reference, or with `exact` against the plain arithmetic bit for bit.
/// `eigen` and `exact` compute all elements and throw InputError where that is too much work.
CheckResult check_timing(CheckMode mode, const workload::Operation& op, bool sparse, const DataSource& data,
                         const Arithmetic& arithmetic, std::uint64_t seed);

/// Checks weights at a pattern that no GPU executes, pruned to it by magnitude: what each row keeps
/// meets its own elements of B, in steps of kept elements as everywhere. `arithmetic`: of the dense
/// instruction, by the rules of the sparse one. `d`: D as simulated, one for each entry of the
/// batch; null: the batched engine computes it.
CheckResult check_pattern(CheckMode mode, const workload::Operation& op, const DataSource& data,
                          const sparsity::WeightPattern& weights, const sparsity::PatternExecution& execution,
                          const Arithmetic& arithmetic, std::uint64_t seed,
                          const std::vector<base::Matrix<numerics::Word>>* d);

/// Checks D as simulated for each entry of a batch as `options` ask, which check something; adds up
/// with `so_far`.
CheckResult check_entries(const std::vector<kernels::GemmOperands>& operands,
                          const std::vector<base::Matrix<numerics::Word>>& d, const Arithmetic& arithmetic,
                          const SimulationOptions& options, CheckResult so_far = {});

/// Whether mma.sp of a GPU executes weights of this pattern as they are.
bool is_hardware(const SimulationOptions& options, numerics::DataType type, const gpu::GpuSpec& gpu);

/// Checks weights at a pattern that mma.sp does not execute as they are; `d` as in check_pattern().
CheckResult check_own_pattern(const workload::Operation& op, const sparsity::PatternExecution& execution,
                              const gpu::GpuSpec& gpu, const SimulationOptions& options, const DataSource& data,
                              const std::vector<base::Matrix<numerics::Word>>* d);

/// Checks a launch of `instruction` without simulated values.
CheckResult check_values(const workload::Operation& op, bool sparse, const mma::MmaInstruction& instruction,
                         const gpu::GpuSpec& gpu, const SimulationOptions& options, const DataSource& data);

/// Throws InputError where the memory does not suffice for the values of `op`: its operands in both
/// forms, D, and what the reference needs.
void require_operand_memory(const workload::Operation& op);

}  // namespace sptc::run
