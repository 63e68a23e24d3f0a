// SPDX-License-Identifier: Apache-2.0
//
// Kernels with a planted fault each. The faulty D comes from the plain arithmetic over changed
// operands, element by element.
#pragma once

#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"
#include "sim/check/kernel/kernel_crosscheck.h"
#include "tests/unit/sim/check/kernel/synthetic_kernel.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::check::kernel {

using numerics::DataType;
using numerics::Word;

/// Which GEMM a fault is planted into.
struct Shape {
  std::string_view arch, instruction;
  std::size_t m, n, k;
  bool with_c = false;
  DataType d_type = DataType::kF32;
};

inline constexpr std::string_view kHalf = "m16n8k16.f32.f16.f16.f32";
inline constexpr std::string_view kHalfSparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
inline constexpr std::string_view kBrain = "m16n8k16.f32.bf16.bf16.f32";
inline constexpr std::string_view kBrainSparse = "mma.sp.m16n8k32.f32.bf16.bf16.f32";
inline constexpr std::string_view kBytes = "m16n8k32.s32.s8.s8.s32";
inline constexpr std::string_view kBytesSparse = "mma.sp.m16n8k64.s32.s8.s8.s32";
inline constexpr std::string_view kTf32Sparse = "mma.sp.m16n8k16.f32.tf32.tf32.f32";
inline constexpr std::string_view kFp8 = "m16n8k32.f32.e4m3.e4m3.f32";
inline constexpr std::string_view kFp8Sparse = "mma.sp.m16n8k64.f32.e4m3.e4m3.f32";

/// Rows [first, last] x columns [first, last].
struct Place {
  std::size_t row, last_row, column, last_column;
};

/// A kernel whose D tests compute again for parts of it.
class Plant {
 public:
  explicit Plant(const Shape& shape) : kernel(shape.arch, shape.instruction, shape.m, shape.n, shape.k, shape.with_c) {
    kernel.data.d_type = shape.d_type;
    store(kernel.compute());
  }

  /// D in its type from accumulators.
  void store(const base::Matrix<Word>& sums) {
    d = sums;
    for (std::size_t i = 0; i < d.size(); ++i) {
      d.data()[i] = narrowed(d.data()[i]);
    }
    kernel.data.d = stored(d);
  }
  Word narrowed(Word sum) const {
    const DataType from = kernel.declared.rules.output;
    const DataType to = kernel.data.d_type;
    return from == to ? sum : numerics::from_double(numerics::to_double(sum, from), to);
  }

  /// What `other`, a copy with changed operands, computes at `place`.
  void replace(const SyntheticKernel& other, const Place& place) {
    for (std::size_t i = place.row; i <= place.last_row; ++i) {
      for (std::size_t j = place.column; j <= place.last_column; ++j) {
        d(i, j) = narrowed(other.element(i, j, other.declared.instruction, other.declared.rules));
      }
    }
    kernel.data.d = stored(d);
  }
  Place everywhere() const { return {0, kernel.data.m - 1, 0, kernel.data.n - 1}; }

  void set(std::size_t row, std::size_t column, Word word) {
    d(row, column) = word;
    kernel.data.d = stored(d);
  }

  SyntheticKernel kernel;
  base::Matrix<Word> d;
};

/// Logical k of `kernel` in tiles: tile t of A (of B) is that of tile `source(t)`, or zero where
/// that is negative.
inline void move_k(SyntheticKernel& kernel, std::size_t tile, bool of_a, bool of_b,
                   const std::function<int(int)>& source) {
  const SyntheticKernel before = kernel;
  const auto copy = [&](auto& to, const auto& from, std::size_t width, auto empty) {
    for (std::size_t row = 0; row < to.rows(); ++row) {
      for (std::size_t at = 0; at < to.cols(); ++at) {
        const int tile_of_source = source(static_cast<int>(at / width));
        to(row, at) =
            tile_of_source < 0 ? empty : from(row, static_cast<std::size_t>(tile_of_source) * width + at % width);
      }
    }
  };
  if (of_b) {
    copy(kernel.b_columns, before.b_columns, tile, Word{0});
  }
  if (!of_a) {
    return;
  }
  if (!kernel.declared.instruction.sparse) {
    copy(kernel.a, before.a, tile, Word{0});
    return;
  }
  const auto& pattern = kernel.compressed.pattern;
  copy(kernel.compressed.values, before.compressed.values,
       tile * static_cast<std::size_t>(pattern.kept) / static_cast<std::size_t>(pattern.group), Word{0});
  copy(kernel.compressed.nibbles, before.compressed.nibbles, tile / static_cast<std::size_t>(pattern.group),
       sparsity::kEmptyGroupNibble);
}

/// From which row and column an element comes.
using Source = std::function<std::pair<std::size_t, std::size_t>(std::size_t, std::size_t)>;

/// Elements of `words` that stand where `source` says.
template <typename T>
base::Matrix<T> moved_elements(const base::Matrix<T>& words, const Source& source) {
  base::Matrix<T> result(words.rows(), words.cols());
  for (std::size_t i = 0; i < words.rows(); ++i) {
    for (std::size_t j = 0; j < words.cols(); ++j) {
      const auto [row, column] = source(i, j);
      result(i, j) = words(row, column);
    }
  }
  return result;
}

inline KernelDiagnosis with_operands(const Shape& shape, const Place& place,
                                     const std::function<void(SyntheticKernel&)>& change) {
  Plant plant(shape);
  SyntheticKernel other = plant.kernel;
  change(other);
  plant.replace(other, place);
  return plant.kernel.diagnose();
}

inline KernelDiagnosis with_moved_nibbles(const Shape& shape, const Place& place, const Source& source) {
  return with_operands(shape, place, [&](SyntheticKernel& kernel) {
    kernel.compressed.nibbles = moved_elements(kernel.compressed.nibbles, source);
  });
}

/// `operand`: A or the columns of B.
inline KernelDiagnosis with_moved_elements(const Shape& shape, const Place& place,
                                           base::Matrix<Word> SyntheticKernel::*operand, const Source& source) {
  return with_operands(shape, place,
                       [&](SyntheticKernel& kernel) { kernel.*operand = moved_elements(kernel.*operand, source); });
}

inline KernelDiagnosis with_moved_k(const Shape& shape, const Place& place, std::size_t tile, bool of_a, bool of_b,
                                    const std::function<int(int)>& source) {
  return with_operands(shape, place, [&](SyntheticKernel& kernel) { move_k(kernel, tile, of_a, of_b, source); });
}

/// D lacks k of `tile`-th tile at `place`.
inline KernelDiagnosis without_k(const Shape& shape, const Place& place, std::size_t tile, int missing, int count = 1) {
  return with_moved_k(shape, place, tile, true, true,
                      [&](int t) { return t >= missing && t < missing + count ? -1 : t; });
}

/// Row (column) i of D is that of `source(i)`.
inline KernelDiagnosis with_moved_lines(const Shape& shape, bool of_rows,
                                        const std::function<std::size_t(std::size_t)>& source) {
  Plant plant(shape);
  plant.kernel.data.d = stored(moved_elements(plant.d, [&](std::size_t i, std::size_t j) {
    return of_rows ? std::pair(source(i), j) : std::pair(i, source(j));
  }));
  return plant.kernel.diagnose();
}

inline KernelDiagnosis with_word(const Shape& shape, const Place& place, Word word) {
  Plant plant(shape);
  for (std::size_t i = place.row; i <= place.last_row; ++i) {
    for (std::size_t j = place.column; j <= place.last_column; ++j) {
      plant.set(i, j, word);
    }
  }
  return plant.kernel.diagnose();
}

/// D[i, j] is `factor(i, j)` times what it should be.
inline KernelDiagnosis with_factors(const Shape& shape, const std::function<double(std::size_t, std::size_t)>& factor) {
  Plant plant(shape);
  for (std::size_t i = 0; i < shape.m; ++i) {
    for (std::size_t j = 0; j < shape.n; ++j) {
      const double value = factor(i, j) * numerics::to_double(plant.d(i, j), shape.d_type);
      plant.set(i, j, numerics::from_double(value, shape.d_type));
    }
  }
  return plant.kernel.diagnose();
}

/// D is `change` of its accumulators.
inline KernelDiagnosis with_epilogue(const Shape& shape, const Epilogue& declared, const std::vector<float>& bias,
                                     const Epilogue& executed) {
  Plant plant(shape);
  KernelModel model = plant.kernel.declared;
  plant.kernel.declared.epilogue = declared;
  plant.kernel.declared.order.c_in_epilogue = true;
  model.epilogue = executed;
  model.order.c_in_epilogue = true;
  plant.kernel.data.bias = bias;
  const KernelOperands operands = arrange(plant.kernel.data, model, Selection::all(plant.kernel.data));
  plant.kernel.data.d = stored(execute(plant.kernel.data, model, operands));
  return plant.kernel.diagnose();
}

inline std::vector<float> some_bias(std::size_t count) {
  std::vector<float> bias;
  const base::RandomStream stream = base::RandomStream(9).fork("bias");
  for (std::size_t i = 0; i < count; ++i) {
    bias.push_back(static_cast<float>(stream.normal(i) * 3.14159));
  }
  return bias;
}

/// D of a compressor that keeps the first elements of a group that are not +0.
inline KernelDiagnosis with_negative_zeros(const Shape& shape) {
  Plant plant(shape);
  SyntheticKernel& kernel = plant.kernel;
  base::Matrix<Word> a = sparsity::decompress(kernel.compressed);
  const base::RandomStream stream = base::RandomStream(5).fork("zeros");
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.data()[i] == 0 && stream.below(i, 16) == 0) {
      a.data()[i] = 0x8000;
    }
  }
  kernel.data.a = stored(a);
  kernel.data.metadata.reset();
  for (std::size_t row = 0; row < a.rows(); ++row) {
    for (std::size_t group = 0; group < a.cols(); group += 4) {
      int kept = 0;
      for (std::size_t k = group; k < group + 4; ++k) {
        a(row, k) = a(row, k) != 0 && kept++ < 2 ? a(row, k) : 0;
      }
    }
  }
  kernel.compressed = sparsity::compress(a, DataType::kF16);
  plant.store(kernel.compute());
  return kernel.diagnose();
}

/// Metadata of the old encoder of PyTorch with values in our order.
inline KernelDiagnosis with_old_encoder(const Shape& shape) {
  Plant plant(shape);
  SyntheticKernel& kernel = plant.kernel;
  base::Matrix<Word> a = sparsity::decompress(kernel.compressed);
  const base::RandomStream stream = base::RandomStream(6).fork("thin");
  for (std::size_t i = 0; i < a.size(); ++i) {
    a.data()[i] = stream.below(i, 4) == 0 ? 0 : a.data()[i];
  }
  kernel.compressed = sparsity::compress(a, kernel.declared.instruction.a_type);
  kernel.store_operands();
  plant.store(kernel.compute());
  SyntheticKernel other = kernel;
  other.compressed.nibbles = sparsity::encode_as_pytorch(kernel.compressed, sparsity::PyTorchEncoder::kOld).nibbles;
  plant.replace(other, plant.everywhere());
  return kernel.diagnose();
}

inline std::size_t swapped(std::size_t i, std::size_t a, std::size_t b) {
  return i == a ? b : i == b ? a : i;
}

/// What the diagnosis says and where, in one text.
inline std::string told(const KernelDiagnosis& diagnosis) {
  return diagnosis.fitting.empty() ? "nothing"
                                   : diagnosis.fitting.front().cause + ": " + diagnosis.fitting.front().text;
}

inline const Shape half{"A100", kHalf, 128, 96, 256};
inline const Shape sparse{"A100", kHalfSparse, 128, 96, 256};
inline const Shape narrow{"H100", kHalf, 96, 64, 320, false, DataType::kF16};
inline const Shape with_c{"A100", kBrain, 64, 64, 192, true};
inline const Shape square{"A100", kHalf, 64, 64, 256};

/// Expects that `fault` is named `cause`, with `parts` in its text: what and where.
inline void expect_named(std::string_view fault, std::string_view cause, std::initializer_list<std::string_view> parts,
                         const KernelDiagnosis& diagnosis) {
  EXPECT_FALSE(diagnosis.bit_exact()) << fault;
  ASSERT_FALSE(diagnosis.fitting.empty()) << fault << ": not named";
  const Explanation& named = diagnosis.fitting.front();
  EXPECT_EQ(named.cause, cause) << fault << " is named " << told(diagnosis);
  for (const std::string_view part : parts) {
    EXPECT_NE(named.text.find(part), std::string::npos) << fault << " is named " << told(diagnosis);
  }
}

}  // namespace sptc::check::kernel
