// SPDX-License-Identifier: Apache-2.0
#include "sim/run/memory_use.h"

#include "models/numerics/data_type.h"
#include "models/sparsity/pattern.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/run/asked_work.h"
#include "sim/run/network/kernel_plan.h"
#include "sim/run/pass_kind.h"
#include "sim/run/run_parts.h"
#include "sim/run/simulation_options.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/expert_shares.h"
#include "sim/workload/vector_operation.h"
#include "sim/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sptc::run {
namespace {

using base::product;
using workload::Operation;
using workload::VectorKind;
using workload::VectorOperation;

constexpr double kBitsPerByte = 8;
constexpr double kTensorBytes = 2;  ///< of an element between kernels

/// Whether the network has to keep keys and values.
bool writes_text(const workload::Workload& workload) {
  return pass_kind(workload).stage != PassKind::Stage::kOther;
}

/// Bytes of a network, part by part.
class Counter {
 public:
  Counter(const workload::Workload& workload, const std::vector<Operation>& operations,
          const std::vector<VectorOperation>& vectors, const SimulationOptions& options)
      : inputs_(options.inputs_of_gpu(workload.inputs)),
        operations_(operations),
        vectors_(vectors),
        options_(options),
        writes_text_(writes_text(workload)) {
    for (const Operation& op : operations_) {
      if (workload::is_expert(op)) {
        active_[experts_of(op)] += op.batch;
      }
      output_ = op.weight ? &op : output_;
    }
    if (output_ != nullptr && workload::dense_role(output_->name) != "head") {
      output_ = nullptr;
    }
  }

  MemoryUse count(double capacity, bool sparse) const {
    MemoryUse use;
    use.capacity = capacity;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i].weight) {
        add_weight(i, sparse, use);
      }
    }
    add_tables(use);
    add_cache(use);
    add_activations(use);
    return use;
  }

 private:
  static const std::string& experts_of(const Operation& op) { return op.part_of.empty() ? op.name : op.part_of; }

  /// The last vector operation of `kind` before GEMM `i`; null where there is none.
  const VectorOperation* last_before(std::size_t i, VectorKind kind) const {
    const VectorOperation* last = nullptr;
    for (const VectorOperation& op : vectors_) {
      if (op.after > i) {
        break;
      }
      last = op.kind == kind ? &op : last;
    }
    return last;
  }

  /// How many experts lie in memory for each with tokens in this pass.
  double experts(std::size_t i) const {
    const auto active = active_.find(experts_of(operations_[i]));
    const VectorOperation* const routing = active == active_.end() ? nullptr : last_before(i, VectorKind::kRouting);
    return routing == nullptr
               ? 1.0
               : std::max(1.0, static_cast<double>(routing->columns) / static_cast<double>(options_.expert_parallel) /
                                   static_cast<double>(active->second));
  }

  void add_weight(std::size_t i, bool sparse, MemoryUse& use) const {
    const Operation& op = operations_[i];
    const double elements = experts(i) * product({op.count, op.batch, op.shape.m, op.shape.k}) / kBitsPerByte;
    const double scales =
        static_cast<double>(op.storage.scale_bits(true, op.shape.k)) / static_cast<double>(op.shape.k);
    const double bits = op.storage.a_bits(numerics::storage_bits(op.dtype));
    if (!sparse || !op.prunable) {
      use.weights += elements * (bits + scales);
      return;
    }
    const sparsity::Pattern pattern =
        options_.pattern ? options_.pattern->pattern : sparsity::hardware_pattern(op.dtype);
    use.weights += elements * (bits * pattern.kept / pattern.group + scales);
    use.metadata += elements * pattern.metadata_bits() / pattern.group;
  }

  void add_tables(MemoryUse& use) const {
    for (const VectorOperation& op : vectors_) {
      if (op.kind == VectorKind::kEmbedding && output_ != nullptr && output_->shape.k == op.columns) {
        use.weights += product({output_->shape.m, op.columns}) * kTensorBytes;
      }
    }
  }

  /// What is appended for one token counts for each that the first product of an attention reads. Where nothing says
  /// what that is, the products have its keys and values: queries that share them are columns of one product.
  void add_cache(MemoryUse& use) const {
    for (std::size_t i = 0; i + 1 < operations_.size(); ++i) {
      const Operation& scores = operations_[i];
      const Operation& context = operations_[i + 1];
      if (scores.weight || context.weight || scores.batch != context.batch || scores.shape.m != context.shape.k) {
        continue;
      }
      const VectorOperation* const token = last_before(i, VectorKind::kKvAppend);
      const double columns = token != nullptr ? product({token->columns, inputs_})
                             : writes_text_   ? product({network::columns_of_token(scores, context), scores.batch})
                                              : 0;
      use.cache +=
          columns * product({scores.shape.m, scores.count}) * numerics::storage_bits(scores.dtype) / kBitsPerByte;
    }
    for (const VectorOperation& op : vectors_) {
      if (op.kind == VectorKind::kState) {
        use.cache += product({op.rows, op.columns, op.count}) * kTensorBytes;
      }
    }
  }

  void add_activations(MemoryUse& use) const {
    // Where attention is one kernel, or nobody says how it runs, scores stay on chip.
    const bool on_chip = !options_.runs_whole_network() || options_.network_engine->attention() != nullptr;
    std::vector<double> tensors{0, 0};
    double results = 0;
    for (const Operation& op : operations_) {
      const double written = product({op.shape.m, op.shape.n, op.batch}) * kTensorBytes;
      if (&op == output_) {
        results = std::max(results, written);
      } else if (op.weight || !on_chip) {
        tensors.push_back(written);
      }
      if (op.weight) {
        tensors.push_back(product({op.shape.n, op.shape.k, op.batch}) * op.distinct_b() *
                          numerics::storage_bits(op.dtype) / kBitsPerByte);
      }
    }
    for (const VectorOperation& op : vectors_) {
      const double written = product({op.rows, op.columns, op.outputs}) * kTensorBytes;
      const bool scores =
          op.kind == VectorKind::kSoftmax || op.kind == VectorKind::kScale || op.kind == VectorKind::kMask;
      if (workload::info(op.kind).group == workload::WorkGroup::kCommunication) {
        use.communication = std::max(use.communication, 2 * written);
        results = op.kind == VectorKind::kAllGather ? std::max(results, written) : results;
      } else if (!scores || !on_chip) {
        tensors.push_back(written);
      }
    }
    std::partial_sort(tensors.begin(), tensors.begin() + 2, tensors.end(), std::greater<>());
    use.activations = tensors[0] + tensors[1] + results;
  }

  std::int64_t inputs_;
  const std::vector<Operation>& operations_;
  const std::vector<VectorOperation>& vectors_;
  const SimulationOptions& options_;
  bool writes_text_;
  std::map<std::string, std::int64_t> active_;  ///< experts with tokens, by experts_of()
  const Operation* output_ = nullptr;           ///< the weight that makes the results; null: none
};

/// ", at least 2 such boards (--tp 2)", or that --tp gives too few; nothing where experts are shared out: other weights
/// are on each board.
std::string boards_needed(const MemoryUse& use, const SimulationOptions& options) {
  constexpr std::uint64_t kMostGpus = 8;  // of --tp
  if (options.expert_parallel > 1) {
    return "";
  }
  const auto boards = static_cast<std::uint64_t>(std::ceil(options.tensor_parallel * use.total() / use.capacity));
  const std::uint64_t gpus = std::bit_ceil(boards);
  return gpus <= kMostGpus ? fmt::format(", at least {} such boards (--tp {})", boards, gpus)
                           : fmt::format(", more than --tp {} gives", kMostGpus);
}

/// Digits behind the point of GiB: one where the total and the capacity round to the same number without it.
int digits_of(const MemoryUse& use) {
  return std::lround(use.total() / kGib) == std::lround(use.capacity / kGib) ? 1 : 0;
}

/// "weights take 129 GiB, keys and values 10.0, activations 0.1, 139 in all".
std::string parts_text(const MemoryUse& use, int digits) {
  std::string text = fmt::format("weights take {:.{}f} GiB", use.weights / kGib, digits);
  for (const auto& [name, bytes] : {std::pair("metadata", use.metadata),
                                    {"keys and values", use.cache},
                                    {"activations", use.activations},
                                    {"buffers of communication", use.communication}}) {
    text += bytes / kGib >= 0.05 ? fmt::format(", {} {:.1f}", name, bytes / kGib) : "";
  }
  return text + fmt::format(", {:.{}f} in all", use.total() / kGib, digits);
}

/// memory_use() without what nobody says of the cache.
std::optional<MemoryUse> known_use(const workload::Workload& workload, const AskedWork& work,
                                   const SimulationOptions& options, const gpu::GpuSpec& gpu, bool sparse_weights) {
  const auto capacity = static_cast<double>(gpu.memory.dram_capacity.count());
  // Training leaves activations that wait for their gradients and states of the optimiser
  // uncounted.
  if (capacity == 0 || workload.inputs == 0 || options.training) {
    return std::nullopt;
  }
  return Counter(workload, work.operations, work.vectors, options).count(capacity, sparse_weights);
}

/// Whether more than `use` is needed, and nobody says how much.
bool lacks_cache(const workload::Workload& workload, const MemoryUse& use) {
  return use.cache == 0 && writes_text(workload);
}

}  // namespace

std::optional<MemoryUse> memory_use(const workload::Workload& workload, const AskedWork& work,
                                    const SimulationOptions& options, const gpu::GpuSpec& gpu, bool sparse_weights) {
  const auto use = known_use(workload, work, options, gpu, sparse_weights);
  return use && use->fits() && lacks_cache(workload, *use) ? std::nullopt : use;
}

std::string does_not_fit(const workload::Workload& workload, const AskedWork& work, const SimulationOptions& options,
                         const gpu::GpuSpec& gpu) {
  const bool has_sparse = options.variants != Variants::kDense && gpu.sm.tensor_core.selector_inputs > 1;
  const bool has_dense = options.variants != Variants::kSparse || !has_sparse;
  const auto dense = known_use(workload, work, options, gpu, false);
  const auto sparse = known_use(workload, work, options, gpu, true);
  const bool is_bound = dense && lacks_cache(workload, *dense);
  const bool dense_fits = !dense || !has_dense || dense->fits();
  if (dense_fits && (!sparse || !has_sparse || sparse->fits())) {
    return !is_bound
               ? ""
               : fmt::format(
                     "may or may not fit the {:.0f} GiB of {}: the workload does not say how large its KV cache is",
                     dense->capacity / kGib, gpu.name);
  }
  const MemoryUse& first = dense_fits ? *sparse : *dense;
  const int gpus = options.gpus();
  const int digits = digits_of(first);
  std::string text =
      fmt::format("does not fit the {:.{}f} GiB of {}{}: {} {}{}; ", first.capacity / kGib, digits,
                  gpus > 1 ? fmt::format("each of {} ", gpus) : "", gpu.name, dense_fits ? "2:4" : "dense",
                  parts_text(first, digits), boards_needed(first, options));
  if (!dense_fits && has_sparse && sparse->total() < dense->total()) {
    text += fmt::format("with 2:4 weights it takes {:.{}f} GiB{}; ", sparse->total() / kGib, digits_of(*sparse),
                        !sparse->fits() ? boards_needed(*sparse, options)
                        : is_bound      ? " beside a KV cache whose size the workload does not say"
                                        : " and fits");
  }
  return text + "the figures are those of a board that had the room";
}

}  // namespace sptc::run
