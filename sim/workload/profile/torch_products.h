// SPDX-License-Identifier: Apache-2.0
//
// Operations that launch GEMMs: those of PyTorch, those that vLLM, SGLang, TensorRT-LLM, FBGEMM and
// bitsandbytes add to it, and the templates of Inductor.
#pragma once

#include "sim/workload/profile/torch_call.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload::profile {

struct Product;

/// A call, and what is read of it.
struct Reading {
  const TorchCall& call;
  const Product& product;
  const std::string& place;  ///< for messages
  RecordedLaunch launch;     ///< has the name of the call, and the type of its first operand
  std::vector<RecordedLaunch> behind;  ///< launched after that

  /// Extents of operand `index`.
  const std::vector<std::int64_t>& operand(std::size_t index) const;
  /// Says `why` the launch is not taken, or that shapes were not recorded.
  void refuse(std::string_view why);
};

struct Product {
  std::string_view name;
  /// Fills the launch. One without a reason and without a shape is not taken: its inputs do not
  /// tell it, as of another version of the library.
  void (*read)(Reading& of);
  std::size_t first = 0;            ///< input that is the first operand
  std::size_t pad = 0, stride = 0;  ///< of a convolution: which inputs they are
};

/// The one called `name`; null where it launches no GEMM itself: mm and not linear, which calls it.
const Product* find_product(std::string_view name);

/// The integers of "[1, 1]"; nothing where it is none.
std::optional<std::vector<std::int64_t>> integers_of(std::string_view text);

/// All extents of `x` but the last in one; 0 where no GEMM has as many rows.
std::int64_t rows_of(const std::vector<std::int64_t>& x);

/// GEMMs of experts in one kernel. Where an operand has three axes, the first counts experts, and
/// they share the tokens of the other; of two matrices they share K. As far as the recording says,
/// all get as many.
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
