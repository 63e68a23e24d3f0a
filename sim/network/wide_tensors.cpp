// SPDX-License-Identifier: Apache-2.0
#include "sim/network/wide_tensors.h"

#include <cstddef>
#include <utility>

namespace sptc::network {
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

}  // namespace sptc::network
