// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/gpu/gpu_spec.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/run/network/offers.h"
#include "sim/workload/vector_operation.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::run::network {

/// Which operations of a network share a kernel.
struct FusionRule {
  enum class Kind {
    kEpilogue,             ///< what follows a GEMM happens in its epilogue
    kConvolutionEpilogue,  ///< the same of a convolution
    kAttention,            ///< both products of attention and what stands between them are one kernel
    kChain,                ///< vector operations that follow each other are one kernel
    kSiblings,             ///< weights of one input, with such operations between them, are one GEMM
  };
  std::string name;
  Kind kind = Kind::kChain;
  std::set<workload::VectorKind> operations;
};

/// What runs a network: which operations it fuses, which types flow between its kernels, and how
/// launches follow each other. A file of configs/engines/.
struct EngineSpec {
  std::string name;
  std::string version;  ///< the release of the software; empty: nobody says
  /// Only GEMMs are counted, each by itself under the conditions of the options.
  bool gemms_only = false;
  kernels::LaunchMode launch = kernels::LaunchMode::kStream;
  kernels::Algorithm algorithm = kernels::Algorithm::kHeuristic;
  /// What the host needs for each launch [us], and for that of a 2:4 kernel: the GPU waits where it
  /// is done sooner. 0: it never waits.
  double host_us = 0;
  double sparse_host_us = 0;
  /// Tokens of the largest pass that is one CUDA graph; nothing: all are as `launch` says.
  std::optional<std::int64_t> graph_tokens;
  bool graphs_decode_alone = false;  ///< a pass of several tokens a sequence is none
  /// What the host does between two passes while the GPU waits, and of that for each sequence [us]:
  /// scheduling, inputs, sampling.
  double step_us = 0;
  double sequence_us = 0;
  /// 2:4 kernels leave their results transposed: what follows reads them against their layout.
  bool sparse_transposed = false;
  /// Cycles of each kernel [of the SMs] beside what the models of its parts have.
  double kernel_cycles = 0;
  /// Types of the tensors between kernels, by the type of the operands; where nothing is said, what
  /// GemmProblem says of D.
  std::map<numerics::DataType, numerics::DataType> tensors;
  /// Kernels by the instruction set of the GPU: a file of configs/libraries/. Else those of the
  /// architecture.
  std::map<std::string, std::string> libraries;
  std::vector<FusionRule> rules;
  /// Operations that compute in f32 and write it, whatever they read: what mixed precision
  /// (torch.autocast) does.
  std::set<workload::VectorKind> wide;

  /// What the software has; no rows: nobody says.
  std::vector<Offer> types, sparse;
  /// How activations of these types come about from 16 bits; no row: they are there.
  std::vector<Offer> quantize;
  /// The board that it runs on, and its compute capability (89 for 8.9); 0: any.
  std::string board;
  int compute_capability = 0;

  /// Why the software multiplies no weight as `op` has it, in a sentence; empty: it does.
  std::string no_types(const workload::Operation& op) const;
  /// Why it has no 2:4 kernels for that; empty: it has.
  std::string no_sparse(const workload::Operation& op) const;
  /// How the activations of `op` are quantised; null: they have the type that the kernel before
  /// has left them in, or nobody says.
  const Offer* quantisation(const workload::Operation& op) const;

  /// The rule of `kind` that takes `operation`, or null.
  const FusionRule* rule(FusionRule::Kind kind, workload::VectorKind operation) const;
  /// Whether attention is one kernel.
  const FusionRule* attention() const;
};

/// Reads a file of configs/engines/ without ".json", or a path, which may have a release behind it:
/// "vllm@0.18". Without one it is the newest that the file knows. "torch" and other usual names
/// mean a file of another name. Throws InputError.
EngineSpec load_engine(const std::string& asked);

/// The newest release from text; `file` is for messages.
EngineSpec parse_engine(std::string_view text, const std::string& file);

/// `engine` on `gpu`, whose compute capability its offers may exclude.
EngineSpec on_board(EngineSpec engine, const gpu::GpuSpec& gpu);

/// `engine` as it launches a pass of `gemms` over `sequences`, 0 where nobody says how many: a CUDA
/// graph, which waits for no host, or, where its graphs are of other passes, a stream.
EngineSpec for_pass(EngineSpec engine, const std::vector<workload::Operation>& gemms, std::int64_t sequences);

/// Names that load_engine() knows, sorted.
std::vector<std::string> engine_names();

}  // namespace sptc::run::network
