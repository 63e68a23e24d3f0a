// SPDX-License-Identifier: Apache-2.0
#include "sim/network/tensor_parallel.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace sptc::network {
namespace {

class Splitter {
 public:
  Splitter(const std::vector<workload::Operation>& gemms,
           const std::vector<workload::VectorOperation>& vectors, int gpus)
      : gemms_(gemms), vectors_(vectors), gpus_(gpus) {
    const auto repeats = [](const workload::Operation& op) { return op.count > 1; };
    first_ = std::find_if(gemms.begin(), gemms.end(), repeats) - gemms.begin();
    last_ = gemms.rend() - std::find_if(gemms.rbegin(), gemms.rend(), repeats) - 1;
  }

  TensorParallelPart take() && {
    std::size_t next = 0;
    for (std::size_t i = 0; i < gemms_.size(); ++i) {
      while (next < vectors_.size() && vectors_[next].after <= i) {
        add(vectors_[next++]);
      }
      if (routes(i)) {
        part_.gemms.push_back(gemms_[i]);
      } else {
        in_layer_ =
            first_ <= static_cast<std::ptrdiff_t>(i) && static_cast<std::ptrdiff_t>(i) <= last_;
        add(gemms_[i]);
      }
    }
    while (next < vectors_.size()) {
      add(vectors_[next++]);
    }
    if (sums_ == 0) {
      throw base::InputError("--tp splits the layers of transformers, and the workload has none");
    }
    return std::move(part_);
  }

 private:
  /// Whether GEMM `i` chooses experts, which every GPU does for itself.
  bool routes(std::size_t i) const {
    return std::any_of(vectors_.begin(), vectors_.end(), [i](const workload::VectorOperation& op) {
      return op.after == i + 1 && op.kind == workload::VectorKind::kRouting;
    });
  }

  void divide(std::int64_t& extent, const std::string& name, const char* what) const {
    if (extent % gpus_ != 0) {
      throw base::InputError(fmt::format("--tp {}: {} = {} of '{}' cannot be divided by it", gpus_,
                                         what, extent, io::printable(name)));
    }
    extent /= gpus_;
  }

  void add(const workload::Operation& whole) {
    workload::Operation op = whole;
    if (!op.part_of.empty() && op.part_of == part_of_) {
      open_ = !open_;  // another expert, as the one before
    }
    part_of_ = op.part_of;
    if (!op.weight) {
      divide(op.batch, op.name, "batch");
    } else if (!in_layer_) {
      if (op.shape.m % gpus_ == 0) {
        op.shape.m /= gpus_;
      }
    } else if (!open_) {
      divide(op.shape.m, op.name, "m");
      open_ = true;
    } else {
      divide(op.shape.k, op.name, "k");
      open_ = false;
    }
    part_.gemms.push_back(op);
    if (op.weight && in_layer_ && !open_) {
      add_sum(op);
    }
  }

  void add_sum(const workload::Operation& op) {
    workload::VectorOperation sum;
    sum.name = op.name + ".all_reduce";
    sum.kind = workload::VectorKind::kAllReduce;
    sum.rows = sum.input_rows = op.shape.n * op.batch;
    sum.columns = op.shape.m;
    sum.count = op.count;
    sum.after = part_.gemms.size();
    part_.vectors.push_back(sum);
    ++sums_;
  }

  /// Between the two weights each GPU has its heads or columns.
  void add(const workload::VectorOperation& whole) {
    workload::VectorOperation op = whole;
    if (open_) {
      const bool by_row = op.kind == workload::VectorKind::kSoftmax ||
                          op.kind == workload::VectorKind::kScale ||
                          op.kind == workload::VectorKind::kMask ||
                          op.kind == workload::VectorKind::kRmsNorm ||  // of queries and keys
                          op.kind == workload::VectorKind::kLayerNorm;
      divide(by_row ? op.rows : op.columns, op.name, by_row ? "rows" : "columns");
      op.input_rows = by_row ? op.input_rows / gpus_ : op.input_rows;
    }
    part_.vectors.push_back(op);
  }

  const std::vector<workload::Operation>& gemms_;
  const std::vector<workload::VectorOperation>& vectors_;
  std::int64_t gpus_;
  /// A layer is there several times, and what stands among such layers is of one, too: a dense
  /// layer of a network of experts.
  std::ptrdiff_t first_ = 0, last_ = -1;
  bool in_layer_ = false;
  bool open_ = false;    ///< between the two weights of a pair
  std::string part_of_;  ///< of the last weight, where experts share tokens
  int sums_ = 0;
  TensorParallelPart part_;
};

}  // namespace

TensorParallelPart split_over(const std::vector<workload::Operation>& gemms,
                              const std::vector<workload::VectorOperation>& vectors, int gpus) {
  return gpus == 1 ? TensorParallelPart{gemms, vectors} : Splitter(gemms, vectors, gpus).take();
}

}  // namespace sptc::network
