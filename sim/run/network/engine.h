// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/workload/vector_operation.h"

#include <map>
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
    kAttention,  ///< both products of attention and what stands between them are one kernel
    kChain,      ///< vector operations that follow each other are one kernel
    kSiblings,   ///< weights of one input, with such operations between them, are one GEMM
  };
  std::string name;
  Kind kind = Kind::kChain;
  std::set<workload::VectorKind> operations;
};

/// What runs a network: which operations it fuses, which types flow between its kernels, and how
/// launches follow each other. A file of configs/engines/.
struct EngineSpec {
  std::string name;
  /// Only GEMMs are counted, each by itself under the conditions of the options.
  bool gemms_only = false;
  kernels::LaunchMode launch = kernels::LaunchMode::kStream;
  kernels::Algorithm algorithm = kernels::Algorithm::kHeuristic;
  /// What the host needs for each launch [us], and for that of a 2:4 kernel: the GPU waits where it
  /// is done sooner. 0: it never waits.
  double host_us = 0;
  double sparse_host_us = 0;
  /// 2:4 kernels leave their results transposed: what follows reads them against their layout.
  bool sparse_transposed = false;
  /// Of each kernel beside what the models of its parts have [cycles of the SMs].
  double kernel_cycles = 0;
  /// Of the tensors between kernels, by the type of the operands; where nothing is said, what
  /// GemmProblem says of D.
  std::map<numerics::DataType, numerics::DataType> tensors;
  /// Kernels by the instruction set of the GPU: a file of configs/libraries/. Else those of the
  /// architecture.
  std::map<std::string, std::string> libraries;
  std::vector<FusionRule> rules;
  /// Operations that compute in f32 and write it, whatever they read: what mixed precision
  /// (torch.autocast) does.
  std::set<workload::VectorKind> wide;

  /// The rule of `kind` that takes `operation`, or null.
  const FusionRule* rule(FusionRule::Kind kind, workload::VectorKind operation) const;
  /// Whether attention is one kernel.
  const FusionRule* attention() const;
};

/// Reads `name_or_path`: a file of configs/engines/ without ".json", or a path. Throws InputError.
EngineSpec load_engine(const std::string& name_or_path);

/// The same from text; `file` is for messages.
EngineSpec parse_engine(std::string_view text, const std::string& file);

/// Names that load_engine() knows, sorted.
std::vector<std::string> engine_names();

}  // namespace sptc::run::network
