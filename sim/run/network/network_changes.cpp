// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/network_changes.h"

#include "models/numerics/data_type.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

namespace sptc::run::network {
namespace {

bool share_input(const workload::Operation& one, const workload::Operation& other) {
  return one.weight && other.weight && !one.input.empty() && one.input == other.input && !one.conv && !other.conv &&
         one.shape.n == other.shape.n && one.shape.k == other.shape.k && one.batch == other.batch &&
         one.count == other.count && one.dtype == other.dtype;
}

/// Whether everything between GEMM `i` and the next one is of `rule`.
bool close(const FusionRule& rule, const std::vector<workload::VectorOperation>& vectors, std::size_t i) {
  return std::all_of(vectors.begin(), vectors.end(), [&](const workload::VectorOperation& op) {
    return op.after != i + 1 || rule.operations.contains(op.kind);
  });
}

}  // namespace

void merge_siblings(const EngineSpec& engine, std::vector<workload::Operation>& gemms,
                    std::vector<workload::VectorOperation>& vectors) {
  const auto rule = std::find_if(engine.rules.begin(), engine.rules.end(),
                                 [](const FusionRule& row) { return row.kind == FusionRule::Kind::kSiblings; });
  if (rule == engine.rules.end()) {
    return;
  }
  std::vector<workload::Operation> merged;
  std::vector<std::size_t> place(gemms.size() + 1);  // merged ones before the first i
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    const bool joins = !merged.empty() && share_input(merged.back(), gemms[i]) && close(*rule, vectors, i - 1);
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
  return workload::info(op.kind).group == workload::WorkGroup::kNormalisation || op.kind == VectorKind::kEmbedding ||
         op.kind == VectorKind::kResidual;
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

void require_types(const EngineSpec& engine, const std::vector<workload::Operation>& gemms) {
  for (const workload::Operation& op : gemms) {
    if (const std::string why = op.weight ? engine.no_types(op) : ""; !why.empty()) {
      io::refuse("'{}': {}", io::printable(op.name), why);
    }
  }
}

std::string keep_dense_without_kernels(const EngineSpec& engine, std::vector<workload::Operation>& gemms) {
  std::string first;
  for (workload::Operation& op : gemms) {
    if (std::string why = op.prunable ? engine.no_sparse(op) : ""; !why.empty()) {
      op.prunable = false;
      first = first.empty() ? std::move(why) : first;
    }
  }
  return first;
}

namespace {

/// Whether GEMM `i` reads what a quantisation of its own writes, behind `before`.
bool is_quantised(const EngineSpec& engine, const std::vector<workload::Operation>& gemms, std::size_t i,
                  const std::vector<VectorOperation>& before) {
  const Offer* const how = engine.quantisation(gemms[i]);
  const bool listed = !before.empty() && before.back().after == i && before.back().kind == VectorKind::kQuantize;
  // A compiler sees that two GEMMs read one tensor; calls of a library do not.
  const bool shared = i > 0 && share_input(gemms[i - 1], gemms[i]);
  return how != nullptr && !listed && (!shared || how->how == kOwnKernel);
}

VectorOperation quantisation_before(const workload::Operation& gemm, std::size_t index) {
  VectorOperation op;
  op.name = gemm.name + ".quantize";
  op.kind = VectorKind::kQuantize;
  op.rows = op.input_rows = gemm.shape.n * gemm.batch;
  op.columns = gemm.shape.k;
  op.count = gemm.count;
  op.after = index;
  op.input_bits = kNarrow;
  const double scales =
      static_cast<double>(gemm.storage.scale_bits(false, gemm.shape.k)) / static_cast<double>(gemm.shape.k);
  op.output_bits = static_cast<int>(std::lround(numerics::storage_bits(gemm.dtype) + scales));
  return op;
}

/// Puts the quantisation at the end of `vectors`, of the input of `gemm`, before the kernel that dispatches that input
/// to experts: it sends what the quantisation leaves.
void send_quantised(const workload::Operation& gemm, std::vector<VectorOperation>& vectors) {
  const auto quantise = std::prev(vectors.end());
  if (quantise == vectors.begin()) {
    return;
  }
  const auto sent = std::prev(quantise);
  if (sent->kind == VectorKind::kAllToAll && sent->name == gemm.name + ".dispatch") {
    sent->input_bits = sent->output_bits = quantise->output_bits;
    std::iter_swap(sent, quantise);
  }
}

}  // namespace

void quantise_inputs(const EngineSpec& engine, const std::vector<workload::Operation>& gemms,
                     std::vector<VectorOperation>& vectors) {
  const bool lists_vectors = std::any_of(vectors.begin(), vectors.end(), [](const VectorOperation& op) {
    return workload::info(op.kind).group != workload::WorkGroup::kCommunication;  // which several GPUs add
  });
  if (engine.quantize.empty() || !lists_vectors) {
    return;
  }
  std::vector<VectorOperation> result;
  std::size_t next = 0;
  for (std::size_t i = 0; i <= gemms.size(); ++i) {
    while (next < vectors.size() && vectors[next].after <= i) {
      result.push_back(std::move(vectors[next++]));
    }
    if (i < gemms.size() && is_quantised(engine, gemms, i, result)) {
      result.push_back(quantisation_before(gemms[i], i));
      send_quantised(gemms[i], result);
    }
  }
  vectors = std::move(result);
}

}  // namespace sptc::run::network
