// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/numerics/data_type.h"
#include "sim/kernels/launch_conditions.h"
#include "sim/kernels/operand_storage.h"
#include "sim/workload/vector_operation.h"

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

namespace sptc::workload {

/// Geometry of a 2-D convolution, NHWC activations and KRSC weights.
struct ConvGeometry {
  std::int64_t n = 0, c = 0, h = 0, w = 0;  ///< input; c counts the channels of all groups
  std::int64_t k = 0, r = 0, s = 0;         ///< filters of all groups, and their extent
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};
  std::array<std::int64_t, 2> dilation{1, 1};
  std::int64_t groups = 1;
  std::int64_t p = 0, q = 0;  ///< output
};

enum class Activation { kNone, kRelu };

/// Names in the tensor file of a network. The 2:4 variant was fine-tuned with the mask fixed.
struct LayerTensors {
  std::string weight;         ///< [m, k]
  std::string bias;           ///< [m]; empty: none
  std::string sparse_weight;  ///< [m, k], legal for the pattern of the type; empty: this layer stays dense
  std::string sparse_bias;
};

/// What the GPU does after one launch before the next: operations between the GEMMs that wait for
/// DRAM, as a declared approximation. Enters power and the totals' own line, never a time of GEMMs.
struct Rest {
  std::int64_t ns = 0;
  std::int64_t bytes = 0;  ///< that pass through DRAM in that time

  bool any() const { return ns > 0; }
};

/// What a recording says of a launch beside what it computes.
struct Recorded {
  double time_us = 0;  ///< measured, mean of the launches; 0: not recorded
  std::string kernel;  ///< name of the kernel; tile, stages and split-K where only they are known
  std::string d_dtype;
  bool sparse = false;  ///< the weight was 2:4
  // What a library chose, as far as its log says it; the launch is simulated with it.
  base::GemmShape tile{};  ///< of a CTA; k 0: not recorded
  int stages = 0;
  int split_k = 0;
  std::string epilogue{};  ///< of cuBLASLt: "RELU_BIAS"
  bool adds_c = false;     ///< beta is not 0

  bool steers() const { return tile.k > 0 || split_k > 1; }
};

/// The values of a weight that stand in the file of a model.
class WeightValues {
 public:
  virtual ~WeightValues() = default;
  /// Row `row` of A [m, k] of entry `batch`.
  virtual std::vector<float> row(std::int64_t batch, std::int64_t row) const = 0;
  virtual float largest() const = 0;
  virtual bool integral() const = 0;
};

/// Launches of a recording that are not simulated, and why. Extents that it does not say are 0.
struct NotTaken {
  std::string name;
  base::GemmShape shape;
  std::int64_t batch = 1;
  std::string dtype;  ///< as recorded
  std::int64_t count = 1;
  double time_us = 0;  ///< measured, mean of the launches; 0: not recorded
  std::string reason;
};

/// How several GPUs share a weight [m, k]: rows, columns, or each has all of it.
enum class Cut { kM, kK, kNone };
inline constexpr std::array<std::string_view, 3> kCuts{"m", "k", "none"};

/// One GEMM (or a convolution lowered to one): `count` launches of `batch` independent GEMMs D[m,n]
/// = A[m,k] B[k,n]. A is the weight.
struct Operation {
  std::string name;
  base::GemmShape shape;
  std::int64_t batch = 1;
  std::int64_t count = 1;
  numerics::DataType dtype = numerics::DataType::kF16;
  bool prunable = false;  ///< A is a weight whose shape allows N:M pruning
  bool weight = true;     ///< A is a weight; else both operands are activations
  std::optional<ConvGeometry> conv;
  std::optional<LayerTensors> tensors;
  Activation activation = Activation::kNone;
  bool b_is_zero = false;  ///< B of generated operands is zeros, whatever the others are
  /// Operations of one group alternate faster than the clock is regulated (--limit-over group).
  std::string group;
  Rest rest;
  Recorded recorded;
  std::shared_ptr<const WeightValues> values;  ///< of A; none: they are generated
  /// Conditions of its launches, instead of those of the run; and the type of D in memory.
  std::optional<kernels::LaunchConditions> conditions;
  std::optional<numerics::DataType> d_dtype;
  double epilogue_operations = 0;  ///< as of GemmProblem
  kernels::OperandStorage storage;
  std::string input;       ///< tensor that B is, which others may read, too; empty: not known
  std::string part_of;     ///< operation of the list whose tokens experts share; empty: all of one
  std::optional<Cut> cut;  ///< nothing: by rule (sim/run/network/tensor_parallel.h)

  /// Input elements of a convolution per element of B, at most 1; 1 where B is no convolution's.
  double distinct_b() const;
  /// Multiply-accumulates of all launches, zeros included.
  std::int64_t total_macs() const { return count * batch * shape.macs(); }
};

/// Real values for a chain of layers: the output of each operation, after bias and activation, is
/// the input of the next. The last layer's rows are class scores.
struct NetworkData {
  std::filesystem::path file;  ///< safetensors
  std::string input;           ///< [samples, features]; for a convolution [samples, h, w, c]
  std::string labels;          ///< [samples]
  std::int64_t classes = 0;    ///< rows of the last output that count
};

using NamedDims = std::map<std::string, std::int64_t>;

struct Workload {
  std::string name;
  std::filesystem::path file;
  std::vector<Operation> operations;
  std::vector<VectorOperation> vectors;  ///< what stands between them, in order
  std::optional<NetworkData> network;
  NamedDims dims;                   ///< on which the extents depend, and their values
  std::int64_t inputs = 0;          ///< that pass through the network at once; 0: not known
  std::string source;               ///< of a recording: its format and file
  std::vector<NotTaken> not_taken;  ///< of a recording
  std::vector<std::string> notes;   ///< on how the file was read, one sentence each
};

/// What stands between the separators of `text`, which stays; one part where there is none.
std::vector<std::string_view> parts_of(std::string_view text, char separator);

/// Whether `part` stands between dots and slashes of `name`: "experts" in "mlp.experts.down".
bool has_part(std::string_view name, std::string_view part);

/// "BERT-Large (batch=8, seq=384)": the name and the dimensions, but for those in `without`.
std::string title(const Workload& workload, const std::set<std::string>& without = {});

/// Reads `.json` or `.csv` as traces/README.md describes them; `dims` replaces defaults.
/// Convolutions are implicit GEMMs: m = k/groups, n = n*p*q, k = r*s*c/groups, batch = groups.
/// Throws InputError.
Workload read_workload(const std::filesystem::path& path, const NamedDims& dims = {});

}  // namespace sptc::workload
