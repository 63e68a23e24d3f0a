// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/launch_list.h"

#include <functional>

namespace sptc::workload::blas {

/// One logged call of a GEMM as BLAS has it: D[m,n] = op(A) op(B), column by column.
struct BlasCall {
  std::string function;
  std::int64_t m = 0, n = 0, k = 0, batch = 1, count = 1;
  std::string a_type, b_type, d_type;  ///< as logged: "R_16F", "CUDA_R_16F", "f16_r"
  std::string compute;                 ///< "COMPUTE_32F_FAST_TF32", "xf32_r", ..
  bool transpose_b = false;
  bool a_sparse = false, b_sparse = false;
  std::string a_scales, b_scales;  ///< modes: "VEC32_UE8M0"; empty: one scale or none
  bool failed = false;             ///< the log says so behind it
  bool inputs_only = false;        ///< what a descriptor was made from, which may be logged again
  bool row_major = false;          ///< D: then the library computes the transpose, and B is the weight
  std::string kernel;
  Recorded chosen;  ///< tile, stages, slices of K and epilogue, where they are logged
};

/// The argument of a call that its log calls so; nothing where it does not say it.
using Argument = std::function<std::optional<std::string_view>(std::string_view name)>;

struct ArgumentNames {
  std::string_view m, n, k, batch, a_type, b_type, d_type, compute;
  std::string_view transpose_b{};  ///< empty: it does not say it
};

/// `type` is that of operands which has none of its own, unless the name of the function says it.
/// Throws InputError with `place` where an extent is missing.
BlasCall call_of_arguments(std::string_view function, const Argument& value, const ArgumentNames& names,
                           const std::string& place, std::string_view type = {});

/// What `call` launches. A is taken for the weight where the log does not say more.
RecordedLaunch launch_of(const BlasCall& call);

/// Whether the cost of its scales is not simulated: of rows, or of blocks without a type of their
/// own.
bool has_unmodelled_scales(const BlasCall& call);

// One line of a log each; nothing where it is no launch. Throw InputError with `place`.

/// "[date][cublasLt][pid][Trace][cublasLtMatmul] A=.. Adesc=[..] .." and hipBLASLt's like.
std::optional<BlasCall> read_lt_line(std::string_view line, const std::string& place);
/// "[date][CUSPARSELT][pid][Api][..] .. m=, n=, k=, .. is_A_sparse=true ..".
std::optional<BlasCall> read_cusparselt_line(std::string_view line, const std::string& place);
/// "hipblaslt-bench -m .. -n ..", "rocblas-bench -f gemm_ex ..".
std::optional<BlasCall> read_bench_line(std::string_view line, const std::string& place);
/// "- { rocblas_function: "rocblas_gemm_ex", .. call_count: 136 }".
std::optional<BlasCall> read_rocblas_line(std::string_view line, const std::string& place);

}  // namespace sptc::workload::blas
