// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::io {
class JsonObject;
}  // namespace sptc::io

namespace sptc::workload {

/// What a network does beside GEMMs, on the CUDA cores.
enum class VectorKind {
  kBias,
  kRelu,
  kGelu,
  kSilu,
  kTanh,
  kSigmoid,
  kScale,
  kMask,
  kResidual,  ///< the sum of two tensors
  kGate,      ///< silu(a) * b
  kQuantize,
  kDequantize,
  kLayerNorm,
  kRmsNorm,
  kSoftmax,
  kEmbedding,
  kPooling,
  kCopy,  ///< transposed, gathered or joined
  kRotary,
  kKvAppend,
  kRouting,    ///< of tokens to experts: softmax and the largest few
  kSelect,     ///< of 4 x 4 elements those that 2:4 keeps, packed along rows and columns
  kState,      ///< of a recurrence, read, changed and written
  kAllReduce,  ///< the sum over GPUs, by the links between them
  kAllGather,  ///< of what each GPU has a part of
  kAllToAll,   ///< each GPU sends each other one the tokens of its experts, or their results
};

/// What a report adds up.
enum class WorkGroup {
  kGemm,
  kAttention,  ///< both products and the softmax in one kernel
  kElementwise,
  kNormalisation,
  kSoftmax,
  kData,           ///< embedding, pooling, copies, key-value cache
  kCommunication,  ///< between GPUs
};
inline constexpr std::size_t kWorkGroups = 7;

/// What one element of the output costs.
struct VectorKindInfo {
  VectorKind kind;
  std::string_view name;  ///< in a workload: "layer_norm"
  WorkGroup group;
  int tensors;     ///< of the size of the output that it reads
  int parameters;  ///< rows that it reads: one element for each column
  /// Instructions of a lane, without loads, stores and conversions, and those of the special
  /// function unit: exponentials, reciprocals, hyperbolic tangents.
  double instructions, special;
};

const VectorKindInfo& info(VectorKind kind);
inline std::string_view name(VectorKind kind) {
  return info(kind).name;
}
std::string_view name(WorkGroup group);
std::optional<VectorKind> parse_vector_kind(std::string_view name);
std::vector<std::string_view> vector_kind_names();

/// Writes a tensor of `rows` x `columns`: `count` launches of a pass where nothing is fused. It
/// works on what the operation before it in the list has written.
struct VectorOperation {
  std::string name;
  VectorKind kind = VectorKind::kCopy;
  std::int64_t rows = 0, columns = 0;
  std::int64_t count = 1;
  int tensors = 1;              ///< of `input_rows` x `columns` that it reads
  int outputs = 1;              ///< tensors that it writes
  std::int64_t input_rows = 0;  ///< those of the output, but of pooling
  bool causal = false;          ///< of a softmax: half of the elements are masked
  std::size_t after = 0;        ///< GEMMs of the workload that stand before it
  /// Bits of an element that it reads and, of all tensors together, writes; 0: as an engine has
  /// tensors between kernels.
  int input_bits = 0, output_bits = 0;
  /// It happens behind the 2:4 kernel of the GEMM before it alone, by itself.
  bool sparse_only = false;

  std::int64_t elements() const { return rows * columns; }
};

/// Nothing where "kind" is none of a vector operation. Throws InputError.
std::optional<VectorOperation> read_vector_operation(const io::JsonObject& object);

struct Recorded;

/// What a library does with D before it is stored.
struct Epilogue {
  std::vector<VectorKind> operations;
  bool reads_tensor = false, writes_tensor = false;  ///< one more of the size and type of D
  bool reads_mask = false, writes_mask = false;      ///< one bit for each element of D
};

/// The epilogue of cuBLASLt's EPILOGUE_`name`: "GELU_AUX_BIAS". Nothing where the name has other
/// parts.
std::optional<Epilogue> parse_epilogue(std::string_view name);

/// The epilogue of a recorded launch: what its name says, as far as it is known, and the sum with
/// C.
Epilogue epilogue_of(const Recorded& recorded);

/// What `operations` cost for an element of D, in slots of instructions: a result of the special
/// function units takes as many as there are lanes for each of theirs.
double epilogue_operations(std::span<const VectorKind> operations);

}  // namespace sptc::workload
