// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/launch_list.h"

namespace sptc::workload::profile {

/// What the name of a GPU kernel says of its operands. Types that it does not say are empty.
struct KernelName {
  enum class Unit { kTensorCore, kSimt, kGemv, kHelper };

  Unit unit = Unit::kTensorCore;
  std::string a_type, d_type;  ///< "f16", "bf16", "tf32", ..
  bool sparse = false;

  bool is_gemm() const { return unit == Unit::kTensorCore || unit == Unit::kSimt; }
};

/// The kernel that a name of cuBLAS, cuBLASLt, cuSPARSELt, cuDNN or CUTLASS says; nothing for a
/// name of another kind.
std::optional<KernelName> decode_kernel_name(std::string_view name);

/// A call of an operation as profiles record it. What is no tensor has no extents.
struct TorchCall {
  std::string name;  ///< "aten::addmm"
  std::vector<std::vector<std::int64_t>> dims, strides;
  std::vector<std::string> types;   ///< "c10::BFloat16"
  std::vector<std::string> values;  ///< of what is no tensor: "[1, 1]"; may be absent

  /// Extents of an input; none where there is no such input.
  const std::vector<std::int64_t>& input(std::size_t index) const;
  /// The type of an input as PyTorch calls it; empty where it is not recorded.
  std::string_view type(std::size_t index) const;
  /// All of it in one text: equal calls have the same.
  std::string signature() const;
};

/// Whether `name` is an operation that launches GEMMs itself: mm and not linear, which calls it.
bool is_leaf_gemm(std::string_view name);

/// What `call` launches, without time. A is the weight: m = N of PyTorch, n = M. `reason` says what
/// the recording does not. Throws InputError "`place`: ..." where shapes contradict each other.
std::vector<RecordedLaunch> launches_of(const TorchCall& call, const std::string& place);

/// Decides whether an f32 launch without a kernel's name runs as TF32, and why it is not taken.
void apply_no_kernel(const TorchCall& call, bool tf32, RecordedLaunch& launch);

/// What the kernel says of the launch: whether it ran on tensor cores, and f32 as TF32.
void apply_kernel(const KernelName* kernel, std::string_view name, RecordedLaunch& launch);

/// The grounds on which launches_of() took `operations`, a sentence each.
std::vector<std::string> grounds_of(const std::vector<Operation>& operations);

struct Product;

struct Reading {
  const TorchCall& call;
  const Product& product;
  const std::string& place;            ///< for messages
  RecordedLaunch launch;               ///< has the name of the call, and the type of its first operand
  std::vector<RecordedLaunch> behind;  ///< launched after that

  const std::vector<std::int64_t>& operand(std::size_t index) const;
  /// Says `why` the launch is not taken, or that shapes were not recorded.
  void refuse(std::string_view why);
};

struct Product {
  std::string_view names;  ///< with blanks between them
  /// Fills the launch. One without a reason and without a shape is not taken: its inputs do not
  /// tell it, as of another version of the library.
  void (*read)(Reading& of);
  std::size_t first = 0;            ///< input that is the first operand
  std::size_t pad = 0, stride = 0;  ///< of a convolution: which inputs they are
  std::string_view reason{};        ///< why it is not taken; `read` is null then
};

/// The one called `name`; null where it launches no GEMM itself: mm and not linear, which calls it.
const Product* find_product(std::string_view name);

/// The integers of "[1, 1]"; nothing where it is none.
std::optional<std::vector<std::int64_t>> integers_of(std::string_view text);

/// All extents of `x` but the last in one; 0 where no GEMM has as many rows.
std::int64_t rows_of(const std::vector<std::int64_t>& x);

/// GEMMs of experts in one kernel. An operand of three axes counts experts first, which share the
/// tokens of the other; of two matrices they share K. All get as many.
void read_grouped(Reading& of);
/// Both products of experts, each in a kernel of its own: x [tokens, h], w1 [experts, 2 i, h], w2
/// [experts, h, i], weights [tokens, chosen].
void read_fused_experts(Reading& of);
/// x [.., k], W [n, k].
void read_linear(Reading& of);
/// The same of nvfp4, of which a byte holds two elements.
void read_four_bits(Reading& of);
/// x [m, k], values of W [n, k / 2], metadata.
void read_sparse_linear(Reading& of);
/// x [m, k], .. W of 32-bit words [k / 16, n * bits / 2], scales [groups, n].
void read_marlin(Reading& of);
/// The same of 2:4 weights: W [k / 32, n * bits / 2].
void read_marlin_24(Reading& of);
/// x [m, k], W of 32-bit words [k, n / 8], scales [groups, n].
void read_awq(Reading& of);
/// x [m, k], W of 32-bit words [k * bits / 32, n], .. scales [groups, n].
void read_machete(Reading& of);
/// x [m, k], W [n / 8, ..], elements of a scale, scales [k / group, n, 2].
void read_tiny_gemm(Reading& of);
/// A template of Inductor: two of its tensors are the operands, the first two or, behind a bias,
/// the next two, and a later one is their product. A square second operand reads both ways: that
/// of a matrix is taken for a weight, as linear layers have them.
void read_template(Reading& of);

}  // namespace sptc::workload::profile
