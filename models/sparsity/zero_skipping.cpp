// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/zero_skipping.h"

#include "models/base/error.h"
#include "models/base/shape.h"

#include <algorithm>
#include <cmath>

namespace sptc::sparsity {

std::int64_t OuterProductArray::passes(std::int64_t kept_m, std::int64_t kept_n) const {
  return base::ceil_div(kept_m, rows) * base::ceil_div(kept_n, columns);
}

double OuterProductArray::mean_passes(int m, int n, const Densities& densities) const {
  return mean_groups(m, rows, densities.a) * mean_groups(n, columns, densities.b);
}

double mean_groups(int extent, int width, double density) {
  base::ensure(extent >= 0 && width > 0 && density >= 0 && density <= 1,
               "zeros of a vector: no width, or a density that is none");
  if (density <= 0) {
    return 0;
  }
  const auto most = static_cast<double>(base::ceil_div(extent, width));
  if (density >= 1) {
    return most;
  }
  // ceil(X / w) counts the j with X > j w, of a binomial X.
  const double n = extent;
  double mean = 0;
  for (int i = 1; i <= extent; ++i) {
    const double chance =
        std::exp(std::lgamma(n + 1) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1) +
                 i * std::log(density) + (n - i) * std::log1p(-density));
    mean += chance * static_cast<double>(base::ceil_div(i, width));
  }
  return std::min(mean, most);
}

}  // namespace sptc::sparsity
