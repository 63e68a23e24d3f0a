// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "models/numerics/codec.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sptc::hardware {

struct GemmShape {
  int m = 0, n = 0, k = 0;
  std::string name;
};

/// Rows "m,n,k,name" below a header. Throws InputError.
std::vector<GemmShape> read_gemm_shapes(const std::filesystem::path& file);

/// What an own kernel rounds extents up to.
struct GemmPadding {
  int tile = 128;         ///< m and n
  int steps_at_once = 2;  ///< instructions along K
};

/// Operands of one GEMM as a function of the place: normal values (s8: uniform) out of a seeded
/// pool, 2:4 metadata in a fixed irregular pattern; every element can be asked for alone.
class GemmData {
 public:
  /// `instruction`: of the own kernel, with 32 bytes of A per row. Throws InputError where
  /// extents are not positive, or k is no multiple of 4.
  GemmData(const mma::MmaInstruction& instruction, const GemmShape& shape, bool random, std::uint64_t seed,
           const GemmPadding& padding = {});

  const mma::MmaInstruction& instruction() const { return instruction_; }
  const GemmShape& shape() const { return shape_; }
  int padded_m() const { return padded_m_; }
  int padded_n() const { return padded_n_; }
  int steps() const { return steps_; }  ///< instructions along K, padding included
  std::size_t element_bytes() const { return bytes_; }
  /// A power of two that brings most sums of s8 products into the range of s8.
  float s8_scale() const;

  /// A as stored: `col` counts compressed elements where sparse. Zero beyond k.
  numerics::Word a(int row, int col) const;
  numerics::Word b(int k, int column) const;
  std::uint8_t nibble(int row, int group) const;

  /// [padded m][steps][32 bytes].
  std::vector<std::uint8_t> pack_a() const;
  /// [padded n][steps][32 bytes, sparse 64].
  std::vector<std::uint8_t> pack_b() const;
  /// [padded m / 16][steps][32 lanes], selector 0; sparse only.
  std::vector<std::uint32_t> pack_metadata() const;
  /// A [m][k] with its zeros, B [n][k], without padding: what libraries take.
  std::vector<std::uint8_t> dense_a() const;
  std::vector<std::uint8_t> dense_b() const;

 private:
  void put(std::vector<std::uint8_t>& to, std::size_t element, numerics::Word word) const;
  /// `at(line, i)` of `lines` lines of `length` elements, with zeros for those up to `padded`.
  template <typename At>
  std::vector<std::uint8_t> packed(int lines, int padded, int length, At at) const;

  mma::MmaInstruction instruction_;
  GemmShape shape_;
  int padded_m_, padded_n_, steps_;
  std::size_t bytes_;
  std::vector<numerics::Word> pool_;
};

/// Outcome of a comparison of sampled elements of D.
struct GemmCheck {
  std::string mode;  ///< "bits", "bound", "none"
  std::size_t elements = 0;
  std::size_t mismatches = 0;  ///< "bits": other bits; "bound": error above the bound
  double worst_error = 0;
  double bound = 0;  ///< of the element with the worst error
};

/// Up to `count` of `extent` lines, the first and the last among them.
std::vector<int> sample_lines(int extent, int count);

/// Sampled rows x columns of D, in the order of the lists, against the engine: bit for bit.
GemmCheck check_bits(const GemmData& data, const mma::Target& target, const std::vector<int>& rows,
                     const std::vector<int>& columns, const std::vector<std::uint32_t>& d);

/// The same against the sum in double precision: |error| <= k 2^-21 sum|a b| (f32 accumulation in
/// any order, truncating or not) + half a unit of the last place of `d_type`; s32 exactly.
GemmCheck check_bound(const GemmData& data, const std::vector<int>& rows, const std::vector<int>& columns,
                      const std::vector<double>& d, const std::string& d_type);

}  // namespace sptc::hardware
