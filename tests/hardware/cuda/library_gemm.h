// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <memory>
#include <string>

namespace sptc::hardware {

/// A GEMM for a vendor library: D[m,n] = A[m,k] B[k,n], the rows of A and the columns of B
/// contiguous along K; D column-major.
struct LibraryProblem {
  int m = 0, n = 0, k = 0;
  std::string dtype;    ///< "f16", "bf16", "s8", "e4m3"
  std::string d_dtype;  ///< empty: the widest that the library has
  float s8_scale = 1;   ///< what sums are multiplied with that become s8
};

/// One problem set up in one library.
class LibraryGemm {
 public:
  LibraryGemm() = default;
  LibraryGemm(const LibraryGemm&) = delete;
  LibraryGemm& operator=(const LibraryGemm&) = delete;
  virtual ~LibraryGemm() = default;

  /// "f32", "f16", "bf16", "e4m3", "s32", "s8".
  virtual std::string d_type() const = 0;
  virtual std::string kernel() const = 0;
  /// Bytes that `prepare` makes of A.
  virtual std::size_t prepared_bytes() const = 0;
  /// What run() takes for A, from the dense A in GPU memory. Sparse libraries compress it.
  virtual void prepare(const void* dense_a, void* prepared) = 0;
  virtual void run(const void* prepared_a, const void* b, void* d, cudaStream_t stream) = 0;
  /// From now on run() takes the fastest of the kernels that the library offers, in place of the
  /// first; these operands are for finding it.
  virtual void use_best(const void* prepared_a, const void* b, void* d) = 0;
};

/// Throw AbsentError where the library is not installed or has no kernel for the problem, and
/// std::runtime_error where it reports another error.
std::unique_ptr<LibraryGemm> make_cublaslt_gemm(const LibraryProblem& problem);
std::unique_ptr<LibraryGemm> make_cusparselt_gemm(const LibraryProblem& problem);

}  // namespace sptc::hardware
