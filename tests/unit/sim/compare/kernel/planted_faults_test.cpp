// SPDX-License-Identifier: Apache-2.0
//
// Kernels with a planted fault each, as real kernels have them. The faulty D comes from the plain
// arithmetic over changed operands, element by element; the diagnosis must name the fault and its
// place. Kernels that are right, and kernels with noise that nothing explains, must get no name.
#include "models/sparsity/pytorch_encoding.h"
#include "sim/compare/kernel/kernel_crosscheck.h"
#include "tests/unit/sim/compare/kernel/synthetic_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::compare::kernel {
namespace {

using numerics::DataType;
using numerics::Word;

/// Which GEMM a fault is planted into.
struct Shape {
  std::string_view arch, instruction;
  std::size_t m, n, k;
  bool with_c = false;
  DataType d_type = DataType::kF32;
};

constexpr std::string_view kHalf = "m16n8k16.f32.f16.f16.f32";
constexpr std::string_view kHalfSparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
constexpr std::string_view kBrain = "m16n8k16.f32.bf16.bf16.f32";
constexpr std::string_view kBrainSparse = "mma.sp.m16n8k32.f32.bf16.bf16.f32";
constexpr std::string_view kBytes = "m16n8k32.s32.s8.s8.s32";
constexpr std::string_view kBytesSparse = "mma.sp.m16n8k64.s32.s8.s8.s32";
constexpr std::string_view kTf32Sparse = "mma.sp.m16n8k16.f32.tf32.tf32.f32";
constexpr std::string_view kFp8 = "m16n8k32.f32.e4m3.e4m3.f32";
constexpr std::string_view kFp8Sparse = "mma.sp.m16n8k64.f32.e4m3.e4m3.f32";

/// Rows [first, last] x columns [first, last].
struct Place {
  std::size_t row, last_row, column, last_column;
};

/// A kernel whose D tests compute again for parts of it.
class Plant {
 public:
  explicit Plant(const Shape& shape)
      : kernel(shape.arch, shape.instruction, shape.m, shape.n, shape.k, shape.with_c) {
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
void move_k(SyntheticKernel& kernel, std::size_t tile, bool of_a, bool of_b,
            const std::function<int(int)>& source) {
  const SyntheticKernel before = kernel;
  const auto copy = [&](auto& to, const auto& from, std::size_t width, auto empty) {
    for (std::size_t row = 0; row < to.rows(); ++row) {
      for (std::size_t at = 0; at < to.cols(); ++at) {
        const int tile_of_source = source(static_cast<int>(at / width));
        to(row, at) =
            tile_of_source < 0
                ? empty
                : from(row, static_cast<std::size_t>(tile_of_source) * width + at % width);
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
       tile * static_cast<std::size_t>(pattern.kept) / static_cast<std::size_t>(pattern.group),
       Word{0});
  copy(kernel.compressed.nibbles, before.compressed.nibbles,
       tile / static_cast<std::size_t>(pattern.group), sparsity::kEmptyGroupNibble);
}

void move_rows(base::Matrix<std::uint8_t>& nibbles,
               const std::function<std::size_t(std::size_t)>& source) {
  const base::Matrix<std::uint8_t> before = nibbles;
  for (std::size_t row = 0; row < nibbles.rows(); ++row) {
    std::ranges::copy(before.row(source(row)), nibbles.row(row).begin());
  }
}

struct Fault {
  std::string name;
  std::string cause;               ///< that must be named
  std::vector<std::string> parts;  ///< of the text: what and where
  std::function<KernelDiagnosis()> diagnose;
};

/// D lacks k of `tile`-th tile at `place`.
KernelDiagnosis without_k(const Shape& shape, const Place& place, std::size_t tile, int missing,
                          int count = 1) {
  Plant plant(shape);
  SyntheticKernel other = plant.kernel;
  move_k(other, tile, true, true,
         [&](int t) { return t >= missing && t < missing + count ? -1 : t; });
  plant.replace(other, place);
  return plant.kernel.diagnose();
}

KernelDiagnosis with_moved_k(const Shape& shape, const Place& place, std::size_t tile, bool of_a,
                             bool of_b, const std::function<int(int)>& source) {
  Plant plant(shape);
  SyntheticKernel other = plant.kernel;
  move_k(other, tile, of_a, of_b, source);
  plant.replace(other, place);
  return plant.kernel.diagnose();
}

/// Row (column) i of D is that of `source(i)`.
KernelDiagnosis with_moved_lines(const Shape& shape, bool of_rows,
                                 const std::function<std::size_t(std::size_t)>& source) {
  Plant plant(shape);
  const base::Matrix<Word> right = plant.d;
  for (std::size_t i = 0; i < right.rows(); ++i) {
    for (std::size_t j = 0; j < right.cols(); ++j) {
      plant.d(i, j) = of_rows ? right(source(i), j) : right(i, source(j));
    }
  }
  plant.kernel.data.d = stored(plant.d);
  return plant.kernel.diagnose();
}

KernelDiagnosis with_word(const Shape& shape, const Place& place, Word word) {
  Plant plant(shape);
  for (std::size_t i = place.row; i <= place.last_row; ++i) {
    for (std::size_t j = place.column; j <= place.last_column; ++j) {
      plant.set(i, j, word);
    }
  }
  return plant.kernel.diagnose();
}

KernelDiagnosis with_metadata(const Shape& shape, const Place& place,
                              const std::function<void(SyntheticKernel&)>& change) {
  Plant plant(shape);
  SyntheticKernel other = plant.kernel;
  change(other);
  plant.replace(other, place);
  return plant.kernel.diagnose();
}

/// D is `change` of its accumulators.
KernelDiagnosis with_epilogue(const Shape& shape, const Epilogue& declared,
                              const std::vector<float>& bias, const Epilogue& executed) {
  Plant plant(shape);
  KernelModel model = plant.kernel.declared;
  plant.kernel.declared.epilogue = declared;
  plant.kernel.declared.order.c_in_epilogue = true;
  model.epilogue = executed;
  model.order.c_in_epilogue = true;
  plant.kernel.data.bias = bias;
  const KernelOperands operands =
      arrange(plant.kernel.data, model, Selection::all(plant.kernel.data));
  plant.kernel.data.d = stored(execute(plant.kernel.data, model, operands));
  return plant.kernel.diagnose();
}

std::vector<float> some_bias(std::size_t count) {
  std::vector<float> bias;
  const base::RandomStream stream = base::RandomStream(9).fork("bias");
  for (std::size_t i = 0; i < count; ++i) {
    bias.push_back(static_cast<float>(stream.normal(i) * 3.14159));
  }
  return bias;
}

/// D of a compressor that keeps the first elements of a group that are not +0.
KernelDiagnosis with_negative_zeros(const Shape& shape) {
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
KernelDiagnosis with_old_encoder(const Shape& shape) {
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
  other.compressed.nibbles =
      sparsity::encode_as_pytorch(kernel.compressed, sparsity::PyTorchEncoder::kOld).nibbles;
  plant.replace(other, plant.everywhere());
  return kernel.diagnose();
}

std::size_t swapped(std::size_t i, std::size_t a, std::size_t b) {
  return i == a ? b : i == b ? a : i;
}

std::vector<Fault> faults() {
  const Shape half{"A100", kHalf, 128, 96, 256};
  const Shape sparse{"A100", kHalfSparse, 128, 96, 256};
  const Shape narrow{"H100", kHalf, 96, 64, 320, false, DataType::kF16};
  const Shape with_c{"A100", kBrain, 64, 64, 192, true};
  std::vector<Fault> list{
      {"missing k-tile of a CTA",
       "missing-k",
       {"rows 64 to 127 x columns 32 to 63", "k 96 to 127"},
       [=] {
         return without_k(half, {64, 127, 32, 63}, 32, 3);
       }},
      {"missing k-tile of a CTA, sparse",
       "missing-k",
       {"rows 32 to 63 x columns 48 to 95", "lacks k 64 to 127"},
       [=] {
         return without_k(sparse, {32, 63, 48, 95}, 64, 1);
       }},
      {"missing tail of K",
       "missing-k",
       {"all 96 rows", "lacks k 304 to 319"},
       [=] {
         return without_k(narrow, {0, 95, 0, 63}, 16, 19);
       }},
      {"missing k in integers",
       "missing-k",
       {"rows 0 to 63 x columns 64 to 127", "k 128 to 191"},
       [] {
         return without_k({"A100", kBytes, 128, 128, 512}, {0, 63, 64, 127}, 64, 2);
       }},
      {"missing half of K, tf32",
       "missing-k",
       {"rows 16 to 31", "lacks k 64 to 127"},
       [] {
         return without_k({"A100", kTf32Sparse, 64, 32, 128}, {16, 31, 0, 31}, 32, 2, 2);
       }},
      {"missing first k with C",
       "missing-k",
       {"rows 32 to 63 x columns 0 to 31", "k 0 to 31"},
       [=] {
         return without_k(with_c, {32, 63, 0, 31}, 32, 0);
       }},
      {"missing k in fp8",
       "missing-k",
       {"columns 16 to 31", "k 128 to 255"},
       [] {
         return without_k({"L40S", kFp8, 64, 64, 512}, {0, 63, 16, 31}, 128, 1);
       }},
      {"stale k-tile of A",
       "duplicated-k-tile",
       {"rows 0 to 63", "k 64 to 95", "A again k 32 to 63"},
       [=] {
         return with_moved_k(half, {0, 63, 0, 95}, 32, true, false,
                             [](int t) { return t == 2 ? 1 : t; });
       }},
      {"stale k-tile of B",
       "duplicated-k-tile",
       {"columns 64 to 95", "k 128 to 191", "B again k 64 to 127"},
       [=] {
         return with_moved_k(sparse, {0, 127, 64, 95}, 64, false, true,
                             [](int t) { return t == 2 ? 1 : t; });
       }},
      {"stale k-tiles of both",
       "duplicated-k-tile",
       {"A and B again k 0 to 31"},
       [=] {
         return with_moved_k(half, {64, 127, 0, 95}, 32, true, true,
                             [](int t) { return t == 7 ? 0 : t; });
       }},
      {"exchanged k-tiles of A",
       "exchanged-k-tiles",
       {"all 64 rows", "k 64 to 95", "k 96 to 127"},
       [=] {
         return with_moved_k(with_c, {0, 63, 0, 63}, 32, true, false, [](int t) {
           return t == 2 ? 3 : t == 3 ? 2 : t;
         });
       }},
      {"A one k-tile late",
       "permuted-k-tiles",
       {"tile t of 32 k of B", "t - 1"},
       [=] {
         return with_moved_k(half, {0, 127, 0, 95}, 32, true, false,
                             [](int t) { return (t + 7) % 8; });
       }},
      {"k-tiles of B swapped in pairs",
       "permuted-k-tiles",
       {"64 k of A", "t ^ 1", "columns 0 to 47"},
       [=] {
         return with_moved_k(sparse, {0, 127, 0, 47}, 64, false, true, [](int t) { return t ^ 1; });
       }},
      {"K summed from another tile on",
       "k-order",
       {"from k 96 on"},
       [=] {
         return with_moved_k(half, {0, 127, 0, 95}, 32, true, true,
                             [](int t) { return (t + 3) % 8; });
       }},
  };
  const auto add = [&](Fault fault) { list.push_back(std::move(fault)); };
  add({"rows exchanged", "permuted-rows", {"rows 5 and 77 are exchanged"}, [=] {
         return with_moved_lines(half, true, [](std::size_t i) { return swapped(i, 5, 77); });
       }});
  add({"rows of fragments exchanged", "permuted-rows", {"row i ^ 8", "all 128 rows"}, [=] {
         return with_moved_lines(sparse, true, [](std::size_t i) { return i ^ 8; });
       }});
  add({"a row twice", "duplicated-rows", {"row 33 holds row 32"}, [=] {
         return with_moved_lines(narrow, true, [](std::size_t i) { return i == 33 ? 32 : i; });
       }});
  add({"a row everywhere in a tile", "duplicated-rows", {"rows 17 to 31 all hold row 16"}, [=] {
         return with_moved_lines(half, true,
                                 [](std::size_t i) { return i > 16 && i < 32 ? 16 : i; });
       }});
  add({"rows of another CTA", "duplicated-rows", {"row i - 64", "rows 64 to 127"}, [=] {
         return with_moved_lines({"A100", kBytesSparse, 128, 64, 256}, true,
                                 [](std::size_t i) { return i >= 64 ? i - 64 : i; });
       }});
  add({"columns exchanged", "permuted-columns", {"columns 3 and 60 are exchanged"}, [=] {
         return with_moved_lines(narrow, false, [](std::size_t j) { return swapped(j, 3, 60); });
       }});
  add({"columns of fragments exchanged", "permuted-columns", {"column i ^ 1"}, [=] {
         return with_moved_lines(half, false, [](std::size_t j) { return j ^ 1; });
       }});
  add({"columns twice", "duplicated-columns", {"column i - 8", "columns 40 to 47"}, [=] {
         return with_moved_lines({"A100", kBrainSparse, 64, 64, 128}, false,
                                 [](std::size_t j) { return j >= 40 && j < 48 ? j - 8 : j; });
       }});
  add({"a CTA that does not run",
       "zero-region",
       {"rows 64 to 127 x columns 0 to 31", "tile [1, 0]"},
       [=] {
         return with_word(half, {64, 127, 0, 31}, 0);
       }});
  add({"a last row of CTAs that does not run",
       "zero-region",
       {"rows 64 to 95 x all 64 columns"},
       [=] {
         return with_word(narrow, {64, 95, 0, 63}, 0);
       }});
  add({"a tile of poison",
       "unwritten-region",
       {"rows 0 to 31 x columns 32 to 63", "0xffffffff"},
       [=] {
         return with_word(with_c, {0, 31, 32, 63}, 0xFFFFFFFF);
       }});
  add({"tiles exchanged",
       "moved-tile",
       {"rows 0 to 63 x columns 32 to 63", "rows 64 to 127 x columns 64 to 95"},
       [=] {
         Plant plant(half);
         for (std::size_t i = 0; i < 64; ++i) {
           for (std::size_t j = 0; j < 32; ++j) {
             std::swap(plant.d(i, 32 + j), plant.d(64 + i, 64 + j));
           }
         }
         plant.kernel.data.d = stored(plant.d);
         return plant.kernel.diagnose();
       }});
  add({"a tile transposed", "transposed-tile", {"rows 32 to 47 x columns 16 to 31"}, [=] {
         Plant plant(sparse);
         const base::Matrix<Word> right = plant.d;
         for (std::size_t i = 0; i < 16; ++i) {
           for (std::size_t j = 0; j < 16; ++j) {
             plant.set(32 + i, 16 + j, right(32 + j, 16 + i));
           }
         }
         return plant.kernel.diagnose();
       }});
  add({"metadata rows exchanged", "metadata-rows", {"row i ^ 8", "rows 32 to 47"}, [=] {
         return with_metadata(sparse, {32, 47, 0, 95}, [](SyntheticKernel& kernel) {
           move_rows(kernel.compressed.nibbles, [](std::size_t i) { return i ^ 8; });
         });
       }});
  add({"metadata of one row for another", "metadata-rows", {"rows 6 and 9 are exchanged"}, [=] {
         return with_metadata(
             {"L40S", kFp8Sparse, 64, 48, 256}, {0, 63, 0, 47}, [](SyntheticKernel& kernel) {
               move_rows(kernel.compressed.nibbles, [](std::size_t i) { return swapped(i, 6, 9); });
             });
       }});
  add({"metadata words swapped in pairs in a tile",
       "metadata-words",
       {"rows 64 to 95", "pairs of 16 bits"},
       [=] {
         return with_metadata(sparse, {64, 95, 0, 95}, [](SyntheticKernel& kernel) {
           const base::Matrix<std::uint8_t> before = kernel.compressed.nibbles;
           for (std::size_t i = 0; i < before.rows(); ++i) {
             for (std::size_t g = 0; g < before.cols(); ++g) {
               kernel.compressed.nibbles(i, g) = before(i, g ^ 4);
             }
           }
         });
       }});
  add({"metadata of a k-tile late", "metadata-words", {"32 bits late", "columns 0 to 47"}, [=] {
         return with_metadata(sparse, {0, 127, 0, 47}, [](SyntheticKernel& kernel) {
           const base::Matrix<std::uint8_t> before = kernel.compressed.nibbles;
           for (std::size_t i = 0; i < before.rows(); ++i) {
             for (std::size_t g = 8; g < before.cols(); ++g) {
               kernel.compressed.nibbles(i, g) = before(i, g - 8);
             }
           }
         });
       }});
  add({"metadata of PyTorch's old encoder", "metadata-encoder", {"old order"}, [=] {
         return with_old_encoder({"A100", kBrainSparse, 64, 48, 256});
       }});
  add({"metadata in Sparse-Marlin's order", "metadata-layout", {"Sparse-Marlin"}, [=] {
         Plant plant(sparse);
         const auto reordered = sparsity::to_reordered(
             sparsity::pack_canonical(plant.kernel.compressed), sparsity::RowOrder::kMarlin);
         std::ranges::copy(reordered.elements, plant.kernel.data.metadata->array.bits.begin());
         return plant.kernel.diagnose();
       }});
  add({"-0.0 taken for a non-zero", "negative-zero", {"-0.0"}, [=] {
         return with_negative_zeros(sparse);
       }});
  add({"sums rounded to f16", "d-type", {"rounded to f16"}, [=] {
         Epilogue executed;
         executed.through = DataType::kF16;
         return with_epilogue(half, {}, {}, executed);
       }});
  add({"D rounded toward zero", "d-type", {"toward zero"}, [=] {
         Epilogue executed;
         executed.narrowing = Narrowing::kTowardZero;
         return with_epilogue(narrow, {}, {}, executed);
       }});
  add({"no bias", "epilogue", {"bias is not added"}, [=] {
         Epilogue executed;
         executed.bias_times = 0;
         return with_epilogue(half, {}, some_bias(128), executed);
       }});
  add({"no ReLU", "epilogue", {"no ReLU"}, [=] {
         Epilogue declared;
         declared.activation = Activation::kRelu;
         return with_epilogue(narrow, declared, some_bias(96), {});
       }});
  add({"beta ignored", "epilogue", {"beta is taken for 1 instead of 0.5"}, [=] {
         Epilogue declared;
         declared.beta = 0.5;
         return with_epilogue(with_c, declared, {}, {});
       }});
  add({"scale of fp8 A off", "scale", {"scale of A is not applied"}, [] {
         Epilogue declared;
         declared.scale_a = 0.0371F;
         return with_epilogue({"L40S", kFp8, 64, 64, 256}, declared, {}, {});
       }});
  add({"fp8 twice too large in a CTA", "scale", {"rows 32 to 63 x columns 0 to 31", "2 times"}, [] {
         Plant plant({"L40S", kFp8Sparse, 64, 64, 256});
         for (std::size_t i = 32; i < 64; ++i) {
           for (std::size_t j = 0; j < 32; ++j) {
             plant.set(i, j,
                       numerics::from_double(2 * numerics::to_double(plant.d(i, j), DataType::kF32),
                                             DataType::kF32));
           }
         }
         return plant.kernel.diagnose();
       }});
  return list;
}

/// What the diagnosis says and where, in one text.
std::string told(const KernelDiagnosis& diagnosis) {
  return diagnosis.fitting.empty()
             ? "nothing"
             : diagnosis.fitting.front().cause + ": " + diagnosis.fitting.front().text;
}

TEST(PlantedFaults, AreNamedWithTheirPlaceAndNoneWrongly) {
  std::size_t right = 0, wrongly = 0;
  const std::vector<Fault> planted = faults();
  ASSERT_GE(planted.size(), 40U);
  for (const Fault& fault : planted) {
    const KernelDiagnosis diagnosis = fault.diagnose();
    EXPECT_FALSE(diagnosis.bit_exact()) << fault.name;
    if (diagnosis.fitting.empty()) {
      ADD_FAILURE() << fault.name << ": not named";
      continue;
    }
    const Explanation& named = diagnosis.fitting.front();
    const bool matches =
        named.cause == fault.cause && std::ranges::all_of(fault.parts, [&](const auto& part) {
          return named.text.find(part) != std::string::npos;
        });
    right += matches ? 1 : 0;
    wrongly += matches ? 0 : 1;
    EXPECT_TRUE(matches) << fault.name << " is named " << told(diagnosis);
  }
  EXPECT_GE(right * 10, planted.size() * 9);
  EXPECT_EQ(wrongly, 0U);
}

TEST(PlantedFaults, AKernelThatIsRightHasNone) {
  for (const Shape& shape :
       {Shape{"A100", kHalf, 64, 48, 256}, Shape{"A100", kHalfSparse, 64, 48, 256, true},
        Shape{"H100", kBrain, 48, 40, 192, false, DataType::kBf16},
        Shape{"A100", kBytesSparse, 64, 32, 256}, Shape{"L40S", kFp8Sparse, 32, 64, 256}}) {
    Plant plant(shape);
    const KernelDiagnosis diagnosis = plant.kernel.diagnose();
    EXPECT_TRUE(diagnosis.bit_exact()) << shape.instruction;
    EXPECT_TRUE(diagnosis.location.places.empty());
    EXPECT_TRUE(diagnosis.fitting.empty());
  }
}

TEST(PlantedFaults, NoiseIsPlacedAndNotNamed) {
  const base::RandomStream stream = base::RandomStream(21).fork("noise");
  std::uint64_t seed = 0;
  for (const Shape& shape :
       {Shape{"A100", kHalf, 128, 96, 256}, Shape{"A100", kHalfSparse, 128, 96, 256},
        Shape{"H100", kHalf, 128, 96, 320, false, DataType::kF16},
        Shape{"A100", kBytes, 128, 96, 256}, Shape{"L40S", kFp8, 128, 96, 256}}) {
    // One element, a row, a tile, and all of D.
    for (const Place& place :
         {Place{70, 70, 41, 41}, Place{9, 9, 0, 95}, Place{32, 63, 32, 63}, Place{0, 127, 0, 95}}) {
      Plant plant(shape);
      for (std::size_t i = place.row; i <= place.last_row; ++i) {
        for (std::size_t j = place.column; j <= place.last_column; ++j) {
          const DataType type = plant.kernel.data.d_type;
          const double value = numerics::to_double(plant.d(i, j), type);
          const double noise = std::fabs(value) * 0.3 * stream.normal(seed++) + 3;
          plant.set(i, j, numerics::from_double(value + noise, type));
        }
      }
      const KernelDiagnosis diagnosis = plant.kernel.diagnose();
      EXPECT_FALSE(diagnosis.bit_exact());
      EXPECT_TRUE(diagnosis.fitting.empty()) << shape.instruction << " rows " << place.row << ".."
                                             << place.last_row << " is named " << told(diagnosis);
      ASSERT_EQ(diagnosis.location.places.size(), 1U);
      const LocatedFault& found = diagnosis.location.places.front();
      EXPECT_FALSE(found.fault) << found.fault->text;
      const Region expected{{{place.row, place.last_row + 1}},
                            {{place.column, place.last_column + 1}},
                            found.region.mismatches};
      EXPECT_EQ(found.region, expected) << text_of(found.region, 128, 96);
    }
  }
}

TEST(PlantedFaults, OfTwoPlacesEachHasItsName) {
  Plant plant({"A100", kHalf, 128, 96, 256});
  SyntheticKernel other = plant.kernel;
  move_k(other, 32, true, true, [](int t) { return t == 3 ? -1 : t; });
  plant.replace(other, {64, 127, 32, 63});
  for (std::size_t i = 0; i < 32; ++i) {
    for (std::size_t j = 64; j < 96; ++j) {
      plant.set(i, j, 0);
    }
  }
  const KernelDiagnosis diagnosis = plant.kernel.diagnose();
  ASSERT_FALSE(diagnosis.fitting.empty());
  const Explanation& named = diagnosis.fitting.front();
  EXPECT_EQ(named.cause, "zero-region+missing-k");
  EXPECT_NE(named.text.find("rows 0 to 31 x columns 64 to 95 (tile [0, 2] of 32 x 32): D is zero"),
            std::string::npos)
      << named.text;
  EXPECT_NE(named.text.find("rows 64 to 127 x columns 32 to 63 (tile [1, 1] of 64 x 32): D lacks k "
                            "96 to 127"),
            std::string::npos)
      << named.text;
}

}  // namespace
}  // namespace sptc::compare::kernel
