// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_extents.h"

#include "models/base/error.h"
#include "models/sparsity/pattern.h"

#include <fmt/format.h>

#include <string>

namespace sptc::check::kernel {
namespace {

/// What mends a matrix that is there as its transpose.
const char* mend_of(const StoredMatrix& transposed) {
  return transposed.column_major ? R"(: say "order": "row" or transpose it)"
                                 : R"(: say "order": "column" or transpose it)";
}

/// `per_element`: k that an element of a row of A stands for.
void require_one_k(const KernelData& data, std::size_t per_element, bool sparse, const io::JsonPlace& file) {
  const StoredMatrix &a = data.a, &b = data.b;
  const std::size_t k_of_a = a.cols * per_element;
  if (k_of_a == b.rows) {
    return;
  }
  const bool is_b_turned = b.cols == k_of_a;
  const bool is_a_turned = a.rows * per_element == b.rows && a.cols == data.d.rows;
  if (is_a_turned) {
    (file / "a")
        .fail("A is [{}, {}]; with B's k of {} it must be [m, {}]{}", a.rows, a.cols, b.rows, a.rows, mend_of(a));
  }
  if (!is_b_turned || data.d.cols != b.rows) {
    if (data.is_compressed() && a.cols == b.rows) {
      (file / "a")
          .fail(R"(A is [{}, {}], as deep as B; with "metadata" it must be the values that are kept, [{}, {}])", a.rows,
                a.cols, a.rows, a.cols / per_element);
    }
    if (sparse && !data.is_compressed() && 2 * a.cols == b.rows) {
      (file / "a")
          .fail(R"(A is [{}, {}]; B's k of {} needs [{}, {}], or "metadata" for these values)", a.rows, a.cols, b.rows,
                a.rows, b.rows);
    }
  }
  (file / "b")
      .fail("B is [{}, {}]; with A's k of {} it must be [{}, n]{}", b.rows, b.cols, k_of_a, k_of_a,
            is_b_turned ? mend_of(b) : "");
}

/// C or D.
void require_result(const KernelData& data, const StoredMatrix& matrix, const char* what, const io::JsonPlace& place) {
  if (matrix.rows == data.m && matrix.cols == data.n) {
    return;
  }
  const bool is_turned = matrix.rows == data.n && matrix.cols == data.m;
  place.fail("{} must be [{}, {}], not [{}, {}] (m = {} from A, n = {} from B){}", what, data.m, data.n, matrix.rows,
             matrix.cols, data.m, data.n, is_turned ? mend_of(matrix) : "");
}

}  // namespace

void require_extents(const KernelData& data, const KernelModel& declared, const io::JsonPlace& file) {
  const bool sparse = declared.instruction.sparse;
  const sparsity::Pattern pattern = sparsity::hardware_pattern(declared.instruction.a_type);
  const auto group = static_cast<std::size_t>(pattern.group);
  require_one_k(data, data.is_compressed() ? group / static_cast<std::size_t>(pattern.kept) : 1, sparse, file);
  if (sparse && data.k % group != 0) {
    file.fail("k = {} is no multiple of {}, a group of {}", data.k, group, pattern.name());
  }
  require_result(data, data.d, "D", file / "d");
  if (data.c) {
    require_result(data, *data.c, "C", file / "c");
  }
  // Throws what the metadata or the pattern of A lack, before any work.
  try {
    arrange(data, declared, Selection::all(data));
  } catch (const base::InputError& error) {
    if (data.is_compressed()) {
      (file / "metadata").fail(error.what());
    }
    (file / "a").fail(R"(A of a sparse instruction: {} ("prune": "magnitude" prunes it))", error.what());
  }
}

}  // namespace sptc::check::kernel
