// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>

#define SPTC_JOIN(a, b) a##b
#define SPTC_NAME(a, b) SPTC_JOIN(a, b)

// C = A B, n x n, column-major, on one thread.
void SPTC_NAME(eigen_sgemm_, BENCH_FLAGS)(const float* a, const float* b, float* c, long n) {
  using Map = Eigen::Map<const Eigen::MatrixXf>;
  Eigen::Map<Eigen::MatrixXf>(c, n, n).noalias() = Map(a, n, n) * Map(b, n, n);
}
