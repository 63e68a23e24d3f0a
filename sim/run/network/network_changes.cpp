// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/network_changes.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace sptc::run::network {
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

namespace {

bool share_input(const workload::Operation& one, const workload::Operation& other) {
  return one.weight && other.weight && !one.input.empty() && one.input == other.input &&
         !one.conv && !other.conv && one.shape.n == other.shape.n && one.shape.k == other.shape.k &&
         one.batch == other.batch && one.count == other.count && one.dtype == other.dtype;
}

/// Whether everything between GEMM `i` and the next one is of `rule`.
bool close(const FusionRule& rule, const std::vector<workload::VectorOperation>& vectors,
           std::size_t i) {
  return std::all_of(vectors.begin(), vectors.end(), [&](const workload::VectorOperation& op) {
    return op.after != i + 1 || rule.operations.contains(op.kind);
  });
}

}  // namespace

void merge_siblings(const EngineSpec& engine, std::vector<workload::Operation>& gemms,
                    std::vector<workload::VectorOperation>& vectors) {
  const auto rule =
      std::find_if(engine.rules.begin(), engine.rules.end(),
                   [](const FusionRule& row) { return row.kind == FusionRule::Kind::kSiblings; });
  if (rule == engine.rules.end()) {
    return;
  }
  std::vector<workload::Operation> merged;
  std::vector<std::size_t> place(gemms.size() + 1);  // merged ones before the first i
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    const bool joins =
        !merged.empty() && share_input(merged.back(), gemms[i]) && close(*rule, vectors, i - 1);
    if (joins) {
      merged.back().shape.m += gemms[i].shape.m;
      merged.back().prunable = merged.back().prunable && gemms[i].prunable;
    } else {
      merged.push_back(std::move(gemms[i]));
    }
    place[i + 1] = merged.size();
  }
  for (workload::VectorOperation& op : vectors) {
    op.after = place[op.after];
  }
  gemms = std::move(merged);
}

namespace {

constexpr int kWide = 32, kNarrow = 16;

using workload::VectorKind;
using workload::VectorOperation;

/// Whether a residual connection reads later what a GEMM reads at once.
bool kept_for_residual(const VectorOperation& op) {
  return workload::info(op.kind).group == workload::WorkGroup::kNormalisation ||
         op.kind == VectorKind::kEmbedding || op.kind == VectorKind::kResidual;
}

/// Goes through the operations in the order of the list.
class Widening {
 public:
  explicit Widening(const EngineSpec& engine) : engine_(engine) {}

  void pass(VectorOperation op) {
    op.input_bits = bits_;
    bits_ = engine_.wide.contains(op.kind) ? kWide : bits_;
    op.output_bits = bits_;
    vectors_.push_back(std::move(op));
  }

  void before(const workload::Operation& gemm, std::size_t index) {
    if (bits_ == kWide && !vectors_.empty()) {
      narrow(gemm, index);
    }
    bits_ = kNarrow;
  }

  std::vector<VectorOperation> take() && { return std::move(vectors_); }

 private:
  void narrow(const workload::Operation& gemm, std::size_t index) {
    VectorOperation& producer = vectors_.back();
    const FusionRule* rule = engine_.rule(FusionRule::Kind::kChain, producer.kind);
    if (rule != nullptr && rule->operations.contains(VectorKind::kCopy)) {
      producer.output_bits = kNarrow + (kept_for_residual(producer) ? kWide : 0);
      return;
    }
    VectorOperation conversion;
    conversion.name = gemm.name + ".input";
    conversion.kind = VectorKind::kCopy;
    conversion.rows = conversion.input_rows = producer.rows;
    conversion.columns = producer.columns;
    conversion.count = gemm.count;
    conversion.input_bits = kWide;
    conversion.output_bits = kNarrow;
    conversion.after = index;
    vectors_.push_back(std::move(conversion));
  }

  const EngineSpec& engine_;
  std::vector<VectorOperation> vectors_;
  int bits_ = kNarrow;
};

}  // namespace

void widen_tensors(const EngineSpec& engine, const std::vector<workload::Operation>& gemms,
                   std::vector<VectorOperation>& vectors) {
  if (engine.wide.empty()) {
    return;
  }
  Widening widening(engine);
  std::size_t next = 0;
  for (std::size_t i = 0; i <= gemms.size(); ++i) {
    while (next < vectors.size() && vectors[next].after <= i) {
      widening.pass(std::move(vectors[next++]));
    }
    if (i < gemms.size()) {
      widening.before(gemms[i], i);
    }
  }
  vectors = std::move(widening).take();
}

}  // namespace sptc::run::network
