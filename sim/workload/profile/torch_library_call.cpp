// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/profile/torch_call.h"

#include <algorithm>

namespace sptc::workload::profile {
namespace {

using Extents = std::vector<std::int64_t>;

bool is_real(std::string_view type) {
  return type == "float" || type.starts_with("c10::");
}

/// A linear layer, of which an element of x has `packed` of K, and one of W `packed_weight`.
void read_packed_linear(Reading& of, std::int64_t packed, std::int64_t packed_weight) {
  const Extents& x = of.operand(0);
  const Extents& w = of.operand(1);
  of.launch.weight = true;
  if (x.empty() || w.size() != 2) {
    return;
  }
  const std::int64_t k = extent_product({x.back(), packed});
  if (k == extent_product({w[1], packed_weight})) {
    of.launch.op.shape = {w[0], rows_of(x), k};
  }
}

/// The weight of a quantised layer of `n` columns, as the words that hold `bits` say, and the
/// first later input [groups, n] has its scales.
void read_quantised(Reading& of, std::size_t words, std::int64_t n, std::int64_t bits) {
  const Extents& x = of.call.input(0);
  if (x.size() != 2 || x[1] < 1 || (bits != 4 && bits != 8)) {
    return;
  }
  std::int64_t groups = 1;
  for (std::size_t i = words + 1; i < of.call.dims.size(); ++i) {
    const Extents& scales = of.call.dims[i];
    if (scales.size() == 2 && scales[1] == n && scales[0] > 0) {
      groups = scales[0];
      break;
    }
  }
  const std::int64_t block = base::ceil_div(x[1], groups);
  Operation& op = of.launch.op;
  op.shape = {n, x[0], x[1]};
  op.storage.weight = bits == 4 ? numerics::DataType::kS4 : numerics::DataType::kS8;
  op.storage.scale_block = groups > 1 && block <= kMostInScaleBlock ? static_cast<int>(block) : 0;
  of.launch.weight = true;
}

/// The first later input of Marlin's words whose rows are K: an addend may stand before it.
void read_marlin_words(Reading& of, std::int64_t rows_per_word) {
  const TorchCall& call = of.call;
  const Extents& x = call.input(0);
  for (std::size_t i = 1; x.size() == 2 && i < call.dims.size(); ++i) {
    const Extents& words = call.dims[i];
    if (call.type(i) != "int" || words.size() != 2 || words[1] > kMaxExtent ||
        extent_product({words[0], rows_per_word}) != x[1]) {
      continue;
    }
    for (std::size_t j = i + 1; j < call.dims.size(); ++j) {  // scales say n
      const Extents& scales = call.dims[j];
      if (is_real(call.type(j)) && scales.size() == 2 && scales[1] > 0 && words[1] * 2 % scales[1] == 0) {
        read_quantised(of, i, scales[1], words[1] * 2 / scales[1]);
        return;
      }
    }
  }
}

/// Whether `call` tells of a product of its inputs `first` and the next one, of which the second is
/// stored as [n, k] where `turned`: another input has the extents of that product.
bool read_product(const TorchCall& call, std::size_t first, bool turned, RecordedLaunch& launch) {
  const Extents& a = call.input(first);
  const Extents& b = call.input(first + 1);
  const std::size_t rank = a.size();
  if (rank < 2 || rank > 3 || b.size() != rank || (rank == 3 && (a[0] != b[0] || a[0] < 1)) ||
      b[turned ? rank - 1 : rank - 2] != a[rank - 1]) {
    return false;
  }
  const std::int64_t n = b[turned ? rank - 2 : rank - 1];
  Extents product = a;
  product[rank - 1] = n;
  bool told = false, bias = false;
  for (std::size_t i = 0; i < call.dims.size(); ++i) {
    if (i != first && i != first + 1) {
      told = told || call.dims[i] == product;
      bias = bias || call.dims[i] == Extents{n};
    }
  }
  if (!told) {
    return false;
  }
  launch.op.shape = {n, a[rank - 2], a[rank - 1]};
  launch.op.batch = rank == 3 ? a[0] : 1;
  launch.weight = rank == 2 && (turned || bias);
  return true;
}

}  // namespace

void read_linear(Reading& of) {
  read_packed_linear(of, 1, 1);
}

void read_four_bits(Reading& of) {
  constexpr int kBlock = 16;
  of.launch.dtype = "e2m1";
  of.launch.op.storage.scale_block = kBlock;
  read_packed_linear(of, 2, 2);
}

void read_sparse_linear(Reading& of) {
  of.launch.op.recorded.sparse = true;
  read_packed_linear(of, 1, 2);
}

void read_marlin(Reading& of) {
  read_marlin_words(of, 16);
}

void read_marlin_24(Reading& of) {
  of.launch.op.recorded.sparse = true;
  read_marlin_words(of, 32);
}

void read_awq(Reading& of) {
  const Extents& x = of.operand(0);
  const Extents& words = of.operand(1);
  if (x.size() == 2 && words.size() == 2 && x[1] == words[0]) {
    read_quantised(of, 1, extent_product({words[1], 8}), 4);
  }
}

void read_machete(Reading& of) {
  const Extents& x = of.operand(0);
  const Extents& words = of.operand(1);
  for (const std::int64_t bits : {4, 8}) {
    if (x.size() == 2 && words.size() == 2 && extent_product({words[0], 32 / bits}) == x[1]) {
      read_quantised(of, 1, words[1], bits);
    }
  }
}

void read_tiny_gemm(Reading& of) {
  const Extents& packed = of.operand(1);
  if (of.operand(0).size() != 2 || packed.size() != 4) {
    return;
  }
  read_quantised(of, 1, extent_product({packed[0], 8}), 4);
  const auto group = of.call.values.size() > 2 ? integers_of(of.call.values[2]) : std::nullopt;
  const bool said = group && group->front() > 0 && group->front() <= kMostInScaleBlock;
  of.launch.op.storage.scale_block = said ? static_cast<int>(group->front()) : 0;
}

void read_template(Reading& of) {
  for (const std::size_t first : {0U, 1U}) {
    const bool matrix = of.call.input(first).size() == 2;
    if (read_product(of.call, first, matrix, of.launch) || read_product(of.call, first, !matrix, of.launch)) {
      return;
    }
  }
}

void read_fused_experts(Reading& of) {
  const Extents& x = of.call.input(0);
  const Extents& up = of.call.input(1);
  const Extents& down = of.call.input(2);
  const Extents& chosen = of.call.input(3);
  const bool fits = x.size() == 2 && up.size() == 3 && down.size() == 3 && chosen.size() == 2 && up[2] == x[1] &&
                    down[1] == x[1] && up[0] == down[0] && chosen[0] == x[0];
  const std::int64_t pairs = fits ? extent_product({x[0], chosen[1]}) : 0;
  if (pairs < 1 || up[0] < 1) {
    return;
  }
  of.launch.weight = true;
  of.launch.op.batch = std::min(up[0], pairs);
  const std::int64_t tokens = base::ceil_div(pairs, of.launch.op.batch);
  RecordedLaunch& second = of.behind.emplace_back(of.launch);
  of.launch.op.name += ", up";
  of.launch.op.shape = {up[1], tokens, up[2]};
  second.op.name += ", down";
  second.op.shape = {down[1], tokens, down[2]};
}

}  // namespace sptc::workload::profile
