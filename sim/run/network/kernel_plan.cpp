// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/kernel_plan.h"

#include "sim/kernels/gemm_traffic.h"
#include "sim/workload/vector_operation.h"

#include <algorithm>
#include <cmath>

namespace sptc::run::network {
namespace {

using RuleKind = FusionRule::Kind;
using base::product;

bool normalises(const PlannedKernel& kernel) {
  return kernel.group == workload::WorkGroup::kNormalisation || kernel.group == workload::WorkGroup::kSoftmax;
}

/// Whether a kernel reads a transposed tensor against its layout: a sum, whose other operand has
/// contiguous rows, and what writes such rows.
bool reads_across(const PlannedKernel& kernel, const Network& network) {
  const bool sum = std::any_of(kernel.vectors.begin(), kernel.vectors.end(), [&](std::size_t i) {
    return network.vectors[i].kind == workload::VectorKind::kResidual;
  });
  return sum || kernel.group != workload::WorkGroup::kElementwise;
}

PlannedKernel copy_before(const PlannedKernel& kernel, std::size_t writer) {
  PlannedKernel copy;
  copy.name = kernel.name + ".input";
  copy.group = workload::WorkGroup::kData;
  copy.count = kernel.count;
  copy.vectors = {kernel.vectors.front()};
  copy.transposed_by = writer;
  copy.makes_contiguous = true;
  return copy;
}

/// Finds the kernels that read what a 2:4 kernel has left transposed, and puts copies before those
/// that cannot.
std::vector<PlannedKernel> with_transposed_results(std::vector<PlannedKernel> kernels, const Network& network) {
  std::vector<PlannedKernel> marked;
  std::optional<std::size_t> writer;
  for (PlannedKernel& kernel : kernels) {
    if (!kernel.gemms.empty()) {
      const std::size_t last = kernel.gemms.back();
      writer = network.gemms[last].prunable ? std::optional(last) : std::nullopt;
    } else if (writer && normalises(kernel)) {
      marked.push_back(copy_before(kernel, *writer));
      writer.reset();
    } else if (writer && !kernel.only_behind && reads_across(kernel, network)) {
      kernel.transposed_by = writer;
      if (kernel.group != workload::WorkGroup::kElementwise) {
        writer.reset();
      }
    }
    marked.push_back(std::move(kernel));
  }
  return marked;
}

/// Goes through the operations in the order of the list.
class Planner {
 public:
  explicit Planner(const Network& network) : network_(network) {}

  std::vector<PlannedKernel> take() && {
    while (at_gemm() || at_vector()) {
      if (at_vector()) {
        chain();
      } else if (!attention()) {
        gemm();
      }
    }
    return std::move(kernels_);
  }

 private:
  bool at_vector() const { return vector_ < network_.vectors.size() && network_.vectors[vector_].after <= gemm_; }
  bool at_gemm() const { return gemm_ < network_.gemms.size(); }
  const workload::VectorOperation& vector() const { return network_.vectors[vector_]; }

  PlannedKernel& add(const std::string& name, workload::WorkGroup group, std::int64_t count) {
    PlannedKernel kernel;
    kernel.name = name;
    kernel.group = group;
    kernel.count = count;
    return kernels_.emplace_back(std::move(kernel));
  }

  /// Whether the quantisation at hand is a kernel of its own, whatever stands beside it.
  bool stands_alone() const {
    if (vector().kind != workload::VectorKind::kQuantize || !at_gemm()) {
      return false;
    }
    const Offer* const how = network_.engine.quantisation(network_.gemms[gemm_]);
    return how != nullptr && how->how == kOwnKernel;
  }

  /// Takes the vector operations that follow while `of` has them or, where that is null, a rule of
  /// `kind`.
  void absorb(RuleKind kind, const FusionRule* of, PlannedKernel& kernel) {
    while (at_vector() && vector().count == kernel.count) {
      const bool taken =
          of != nullptr ? of->operations.contains(vector().kind) : network_.engine.rule(kind, vector().kind) != nullptr;
      if (!taken || vector().sparse_only || stands_alone()) {
        return;
      }
      kernel.vectors.push_back(vector_++);
    }
  }

  void gemm() {
    const workload::Operation& op = network_.gemms[gemm_];
    PlannedKernel& kernel = add(op.name, workload::WorkGroup::kGemm, op.count);
    kernel.gemms.push_back(gemm_++);
    absorb(op.conv ? RuleKind::kConvolutionEpilogue : RuleKind::kEpilogue, nullptr, kernel);
  }

  void chain() {
    const workload::VectorOperation& first = vector();
    PlannedKernel& kernel = add(first.name, workload::info(first.kind).group, first.count);
    const FusionRule* rule = network_.engine.rule(RuleKind::kChain, first.kind);
    kernel.vectors.push_back(vector_++);
    if (first.sparse_only) {
      kernel.only_behind = gemm_ - 1;
      return;
    }
    if (rule != nullptr) {
      absorb(RuleKind::kChain, rule, kernel);
    }
    for (const std::size_t member : kernel.vectors) {
      const workload::WorkGroup group = workload::info(network_.vectors[member].kind).group;
      kernel.group = group == workload::WorkGroup::kElementwise ? kernel.group : group;
    }
  }

  /// A product of two activations, a softmax and what stands beside it, and another product.
  bool attention() {
    const FusionRule* rule = network_.engine.attention();
    const std::size_t second = gemm_ + 1;
    if (rule == nullptr || second >= network_.gemms.size()) {
      return false;
    }
    const workload::Operation& scores = network_.gemms[gemm_];
    const workload::Operation& context = network_.gemms[second];
    if (scores.weight || context.weight || scores.count != context.count || scores.batch != context.batch ||
        scores.shape.m != context.shape.k) {
      return false;
    }
    std::size_t end = vector_;
    bool softmax = false;
    for (; end < network_.vectors.size() && network_.vectors[end].after == second; ++end) {
      softmax = softmax || network_.vectors[end].kind == workload::VectorKind::kSoftmax;
      if (!rule->operations.contains(network_.vectors[end].kind)) {
        return false;
      }
    }
    if (!softmax) {
      return false;
    }
    PlannedKernel& kernel = add("attention", workload::WorkGroup::kAttention, scores.count);
    kernel.gemms = {gemm_, second};
    gemm_ += 2;
    while (vector_ < end) {
      kernel.vectors.push_back(vector_++);
    }
    absorb(RuleKind::kAttention, rule, kernel);
    return true;
  }

  const Network& network_;
  std::size_t gemm_ = 0, vector_ = 0;
  std::vector<PlannedKernel> kernels_;
};

void add_gemm(const workload::Operation& op, int bits, KernelBytes& bytes) {
  const int operand_bits = numerics::storage_bits(op.dtype);
  (op.weight ? bytes.weights : bytes.recent) += product({op.shape.m, op.batch}) *
                                                (static_cast<double>(op.shape.k) * op.storage.a_bits(operand_bits) +
                                                 static_cast<double>(op.storage.scale_bits(true, op.shape.k))) /
                                                8;
  bytes.recent += product({op.shape.n, op.shape.k, op.batch}) * op.distinct_b() * operand_bits / 8;
  bytes.written += product({op.shape.m, op.shape.n, op.batch}) * bits / 8;
}

/// Keys and values, which a decoder has in its cache, queries, and the context, of `bits`.
void add_attention(const workload::Operation& scores, const workload::Operation& context, int bits,
                   KernelBytes& bytes) {
  const double operand_bytes = numerics::storage_bits(scores.dtype) / 8.0;
  const bool cached = scores.shape.m > scores.shape.n;
  (cached ? bytes.weights : bytes.recent) +=
      product({scores.shape.m, columns_of_token(scores, context), scores.batch}) * operand_bytes;
  bytes.recent += product({scores.shape.n, scores.shape.k, scores.batch}) * operand_bytes;
  bytes.written += product({context.shape.n, context.shape.m, context.batch}) * bits / 8;
}

/// What the epilogue of a GEMM does with an element of D.
double epilogue_operations(const PlannedKernel& kernel, const workload::Operation& op, const Network& network) {
  std::vector<workload::VectorKind> operations;
  const bool integers = numerics::accumulator_type(op.dtype) == numerics::DataType::kS32;
  if (integers && op.d_dtype.value_or(numerics::DataType::kS32) != numerics::DataType::kS32) {
    operations.push_back(workload::VectorKind::kDequantize);
    if (numerics::storage_bits(*op.d_dtype) == 8) {
      operations.push_back(workload::VectorKind::kQuantize);
    }
  }
  for (const std::size_t i : kernel.vectors) {
    operations.push_back(network.vectors[i].kind);
  }
  return workload::epilogue_operations(operations);
}

/// The type that the epilogue of a GEMM quantises its result to for the next one; nothing where it
/// does not, or not to bytes.
std::optional<numerics::DataType> quantised_result(const PlannedKernel& kernel, const Network& network) {
  constexpr int kByte = 8;
  if (kernel.group != workload::WorkGroup::kGemm || kernel.vectors.empty()) {
    return std::nullopt;
  }
  const workload::VectorOperation& last = network.vectors[kernel.vectors.back()];
  const bool bytes = last.kind == workload::VectorKind::kQuantize && last.output_bits == kByte;
  return bytes && last.after < network.gemms.size() ? std::optional(network.gemms[last.after].dtype) : std::nullopt;
}

}  // namespace

std::vector<PlannedKernel> plan_kernels(const Network& network) {
  std::vector<PlannedKernel> kernels = Planner(network).take();
  return network.engine.sparse_transposed ? with_transposed_results(std::move(kernels), network) : kernels;
}

std::int64_t columns_of_token(const workload::Operation& scores, const workload::Operation& context) {
  return scores.shape.k + (scores.shape.k > kLargestHead ? 0 : context.shape.m);
}

const workload::Operation* gemm_beside(const PlannedKernel& kernel, const Network& network) {
  if (network.gemms.empty()) {
    return nullptr;
  }
  if (!kernel.gemms.empty()) {
    return &network.gemms[kernel.gemms.front()];
  }
  const std::size_t before = network.vectors[kernel.vectors.front()].after;
  return &network.gemms[before > 0 ? before - 1 : 0];
}

int tensor_bits(const PlannedKernel& kernel, const Network& network) {
  constexpr int kHalf = 16;
  const workload::Operation* op = gemm_beside(kernel, network);
  if (op == nullptr) {
    return kHalf;
  }
  const auto found = network.engine.tensors.find(op->dtype);
  if (found != network.engine.tensors.end()) {
    return numerics::storage_bits(found->second);
  }
  kernels::GemmProblem problem;
  problem.dtype = op->dtype;
  problem.d_dtype = op->d_dtype;
  return kernels::output_bits(problem);
}

KernelBytes bytes_of(const PlannedKernel& kernel, const Network& network) {
  constexpr int kWideBits = 32;
  const int bits = tensor_bits(kernel, network);
  KernelBytes bytes;
  if (kernel.makes_contiguous) {
    const workload::VectorOperation& reader = network.vectors[kernel.vectors.front()];
    bytes.recent = bytes.written = product({reader.input_rows, reader.columns}) * bits / 8;
    return bytes;
  }
  if (kernel.group == workload::WorkGroup::kAttention) {
    add_attention(network.gemms[kernel.gemms.front()], network.gemms[kernel.gemms.back()], bits, bytes);
    return bytes;
  }
  if (!kernel.gemms.empty()) {
    add_gemm(network.gemms[kernel.gemms.front()], bits, bytes);
  }
  const bool chain = kernel.gemms.empty();
  for (std::size_t i = 0; i < kernel.vectors.size(); ++i) {
    const workload::VectorOperation& op = network.vectors[kernel.vectors[i]];
    const double elements = product({op.input_rows, op.columns});
    const double tensor = elements * (op.input_bits > 0 ? op.input_bits : bits) / 8;
    // The sum of a residual connection is as wide as what it adds to.
    const bool sum = op.kind == workload::VectorKind::kResidual && op.output_bits > 0;
    const double other = sum ? elements * std::min(op.output_bits, kWideBits) / 8 : tensor;
    const bool first = chain && i == 0;
    const bool table = op.kind == workload::VectorKind::kEmbedding;
    // What it works on is at hand but for the first of a chain, and for tables.
    double& others = table ? bytes.weights : op.kind == workload::VectorKind::kResidual ? bytes.earlier : bytes.recent;
    if (first && !table) {
      bytes.recent += tensor;
    }
    others += other * (op.tensors - (table ? 0 : 1));
    bytes.weights += workload::info(op.kind).parameters * static_cast<double>(op.columns) * bits / 8;
  }
  if (!kernel.vectors.empty()) {
    const workload::VectorOperation& last = network.vectors[kernel.vectors.back()];
    const int written_bits = last.output_bits > 0 ? last.output_bits : bits;
    bytes.written = static_cast<double>(last.elements()) * last.outputs * written_bits / 8;
  }
  return bytes;
}

double bytes_of_pass(const std::vector<PlannedKernel>& kernels, const Network& network) {
  double bytes = 0;
  for (const PlannedKernel& kernel : kernels) {
    const double count = kernel.sparse_only() ? 0 : static_cast<double>(kernel.count);
    bytes += count * bytes_of(kernel, network).all();
  }
  return bytes;
}

std::vector<workload::Operation> under_engine(const Network& network, const std::vector<PlannedKernel>& kernels) {
  const double pass = bytes_of_pass(kernels, network);
  std::vector<workload::Operation> operations = network.gemms;
  for (const PlannedKernel& kernel : kernels) {
    for (const std::size_t i : kernel.gemms) {
      workload::Operation& op = operations[i];
      kernels::LaunchConditions conditions;
      conditions.launch = network.engine.launch;
      const double launch = bytes_of(kernel, network).all();
      const double turns =
          std::clamp(std::ceil(pass / launch), 1.0, static_cast<double>(kernels::L2State::kMostWeights));
      conditions.l2 = op.weight ? kernels::L2State{kernels::L2State::Kind::kRotate, static_cast<int>(turns)}
                                : kernels::L2State{kernels::L2State::Kind::kWarm, 1};
      conditions.algorithm = network.engine.algorithm;
      op.conditions = conditions;
      const auto type = network.engine.tensors.find(op.dtype);
      if (type != network.engine.tensors.end()) {
        op.d_dtype = type->second;
      }
      if (const auto quantised = quantised_result(kernel, network)) {
        op.d_dtype = quantised;
      }
      op.epilogue_operations = epilogue_operations(kernel, op, network);
    }
  }
  return operations;
}

}  // namespace sptc::run::network
