// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/network/engine.h"
#include "sim/workload/vector_operation.h"
#include "sim/workload/workload.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sptc::run::network {

/// A kernel that an engine makes of operations.
struct PlannedKernel {
  std::string name;  ///< of what it began with
  workload::WorkGroup group = workload::WorkGroup::kGemm;
  std::int64_t count = 1;            ///< launches in a pass of the network
  std::vector<std::size_t> gemms;    ///< one, or the two of attention, or none
  std::vector<std::size_t> vectors;  ///< what was fused, in order; of a copy what reads it
  /// The GEMM whose 2:4 kernel leaves transposed what this one, which is no GEMM, reads.
  std::optional<std::size_t> transposed_by;
  /// A copy that makes the input of `vectors.front()` contiguous behind that 2:4 kernel. Behind the
  /// dense one there is none.
  bool makes_contiguous = false;
  /// The GEMM to whose 2:4 kernel it belongs: beside the dense one it does not run.
  std::optional<std::size_t> only_behind;

  /// Whether it is no part of a pass with dense weights.
  bool sparse_only() const { return makes_contiguous || only_behind.has_value(); }
};

/// The operations of a network, as its list has them, and how its engine runs them.
struct Network {
  const std::vector<workload::Operation>& gemms;
  const std::vector<workload::VectorOperation>& vectors;
  const EngineSpec& engine;
};

/// The kernels of a pass, in order. Where 2:4 kernels leave their results transposed, operations on
/// one tensor keep that layout and GEMMs take it; what normalises wants contiguous rows.
std::vector<PlannedKernel> plan_kernels(const Network& network);

/// Bytes that a kernel needs of memory, each tensor once.
struct KernelBytes {
  double weights = 0;  ///< also tables and the key-value cache: nobody has touched them in this pass
  double recent = 0;   ///< what the kernel before has written
  double earlier = 0;  ///< what a residual connection adds: written some kernels ago
  double written = 0;

  double all() const { return weights + recent + earlier + written; }
};
KernelBytes bytes_of(const PlannedKernel& kernel, const Network& network);

/// Heads have at most as many features; keys of more are those of latent attention.
inline constexpr std::int64_t kLargestHead = 256;
/// Elements of a token that attention reads: of its key and its value. Values of latent attention
/// are the first part of its keys (DeepSeek-V2, arXiv 2405.04434).
std::int64_t columns_of_token(const workload::Operation& scores, const workload::Operation& context);

/// The sum over all launches of a pass with dense weights.
double bytes_of_pass(const std::vector<PlannedKernel>& kernels, const Network& network);

/// The GEMM whose tensors are those beside `kernel`: its own, else the one before, whose D it
/// reads, else the first. Null where there is none.
const workload::Operation* gemm_beside(const PlannedKernel& kernel, const Network& network);

/// Bits of an element of the tensors between kernels around `kernel`.
int tensor_bits(const PlannedKernel& kernel, const Network& network);

/// Each GEMM with the conditions of its launch in the network: how launches follow each other, what
/// the L2 has kept from kernels before, and the type of D.
std::vector<workload::Operation> under_engine(const Network& network, const std::vector<PlannedKernel>& kernels);

}  // namespace sptc::run::network
