// SPDX-License-Identifier: Apache-2.0
// Every vector, compared as register words. What the files are: tests/README.md.
#include "models/mma/fragment_layout.h"
#include "models/mma/instruction.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "models/sparsity/metadata_register.h"
#include "tests/support/fragments.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace sptc::golden {
namespace {

using mma::FragmentOperand;
using mma::MmaInstruction;
using nlohmann::json;
using numerics::DataType;
using numerics::Word;
using sparsity::CompressedMatrix;
using sparsity::LaneWords;

const json& vectors_of(const std::string& file) {
  static std::map<std::string, json> read;
  if (!read.contains(file)) {
    std::ifstream stream(std::string(SPTC_SOURCE_DIR) + "/tests/golden/ptx/" + file);
    read[file] = json::parse(stream).at("vectors");
  }
  return read[file];
}

const char* const kDense = "mma_dense_vectors.json";
const char* const kSparse = "mma_sp_instruction_vectors.json";
const char* const kMatrices = "metadata_matrix_vectors.json";

DataType type_of(const json& vector) {
  return numerics::parse_data_type(vector.at("dtype").get<std::string>()).value();
}

std::uint32_t from_hex(const json& text) {
  return static_cast<std::uint32_t>(std::stoul(text.get<std::string>(), nullptr, 16));
}

/// A matrix of JSON rows, element by element through `convert`.
template <typename T, typename Convert>
base::Matrix<T> read_matrix(const json& rows, Convert convert) {
  base::Matrix<T> matrix(rows.size(), rows.at(0).size());
  for (std::size_t r = 0; r < matrix.rows(); ++r) {
    for (std::size_t c = 0; c < matrix.cols(); ++c) {
      matrix(r, c) = convert(rows.at(r).at(c));
    }
  }
  return matrix;
}

base::Matrix<Word> read_words(const json& rows, DataType type) {
  return read_matrix<Word>(rows, [type](const json& x) { return numerics::from_double(x.get<double>(), type); });
}

/// [lane][register] in the file, [register][lane] with us.
base::Matrix<std::uint32_t> read_registers(const json& lanes) {
  return read_matrix<std::uint32_t>(lanes, from_hex).transposed();
}

base::Matrix<std::uint8_t> read_nibbles(const json& rows) {
  return read_matrix<std::uint8_t>(rows, [](const json& x) { return x.get<std::uint8_t>(); });
}

LaneWords read_lane_words(const json& lanes) {
  LaneWords words{};
  for (std::size_t lane = 0; lane < words.size(); ++lane) {
    words[lane] = from_hex(lanes.at(lane));
  }
  return words;
}

MmaInstruction instruction_of(const json& vector, bool sparse) {
  const auto shape = vector.at("ptx_shape").get<std::string>();
  const std::string prefix = "m16n8k";
  EXPECT_TRUE(shape.starts_with(prefix)) << shape;
  const DataType type = type_of(vector);
  return {.shape = {16, 8, std::stoi(shape.substr(prefix.size()))},
          .a_type = type,
          .b_type = type,
          .accumulator = numerics::accumulator_type(type),
          .sparse = sparse};
}

std::string title(const json& vector) {
  if (vector.contains("name")) {
    return vector.at("name").get<std::string>();
  }
  return vector.at("dtype").get<std::string>() + " " + vector.at("ptx_shape").get<std::string>() + " " +
         vector.value("case", "");
}

void expect_operand_registers(const json& vector, const MmaInstruction& instruction, const char* a_name) {
  const auto a = mma::fragment_layout(instruction, FragmentOperand::kA);
  const auto b = mma::fragment_layout(instruction, FragmentOperand::kB);
  const auto d = mma::fragment_layout(instruction, FragmentOperand::kAccumulator);
  const DataType type = instruction.a_type;
  EXPECT_EQ(mma::pack_fragment(a, read_words(vector.at(a_name), type)), read_registers(vector.at("A_regs")));
  EXPECT_EQ(mma::pack_fragment(b, read_words(vector.at("B"), type)), read_registers(vector.at("B_regs")));
  const DataType sum = instruction.accumulator;
  for (const char* const name : {"C", "D"}) {
    const base::Matrix<Word> lanes = read_words(vector.at(std::string(name) + "_frag"), sum);
    EXPECT_EQ(mma::pack_fragment(d, read_words(vector.at(name), sum)), lanes.transposed()) << name;
  }
}

TEST(MmaVectors, RegistersOfEveryOperandAreEqualAsWords) {
  EXPECT_EQ(vectors_of(kDense).size(), 18U);  // two of each of nine types
  for (const json& vector : vectors_of(kDense)) {
    SCOPED_TRACE(title(vector));
    expect_operand_registers(vector, instruction_of(vector, false), "A");
  }
  for (const json& vector : vectors_of(kSparse)) {
    SCOPED_TRACE(title(vector));
    expect_operand_registers(vector, instruction_of(vector, true), "A_compressed");
  }
}

TEST(SparseMmaVectors, CompressionGivesTheValuesAndTheNibbles) {
  for (const json& vector : vectors_of(kSparse)) {
    SCOPED_TRACE(title(vector));
    const DataType type = type_of(vector);
    const base::Matrix<Word> dense = read_words(vector.at("A_dense"), type);
    const CompressedMatrix compressed = sparsity::compress(dense, type);
    EXPECT_EQ(compressed.values, read_words(vector.at("A_compressed"), type));
    EXPECT_EQ(compressed.nibbles, read_nibbles(vector.at("nibbles_row_major")));
    EXPECT_EQ(sparsity::decompress(compressed), dense);
  }
}

TEST(SparseMmaVectors, MetadataOfEverySelectorIsEqualAsWords) {
  int words = 0;
  for (const json& vector : vectors_of(kSparse)) {
    SCOPED_TRACE(title(vector));
    const MmaInstruction instruction = instruction_of(vector, true);
    const auto format = sparsity::metadata_register_format(instruction.a_type, instruction.shape.k);
    const json& selectors = vector.at("lane_metadata_words_by_selector");
    ASSERT_EQ(static_cast<int>(selectors.size()), format.selectors());
    const CompressedMatrix compressed =
        sparsity::compress(read_words(vector.at("A_dense"), instruction.a_type), instruction.a_type);
    for (int selector = 0; selector < format.selectors(); ++selector) {
      const LaneWords expected = read_lane_words(selectors.at(std::to_string(selector)));
      EXPECT_EQ(sparsity::gather_metadata(format, selector, compressed.nibbles, 0, 0), expected)
          << "selector " << selector;
      EXPECT_EQ(sparsity::read_metadata(format, selector, expected), compressed.nibbles) << "selector " << selector;
      ++words;
    }
  }
  // f16 and bf16, tf32, then s8, u8, s4, u4 in both depths and fp8 in the deep one.
  EXPECT_EQ(words, 4 * 4 + 4 * 2 + 2 * 4 + 2 * 2 + 4 * (2 * 2 + 2 * 1) + 2 * 2 * 1);
}

base::Matrix<std::uint32_t> read_canonical(const json& vector) {
  return read_matrix<std::uint32_t>(vector.at("meta_canonical_row_major"), from_hex);
}

/// The nibbles that `words` in `form` are of a matrix of the extents of `vector`.
base::Matrix<std::uint8_t> nibbles_of(const base::Matrix<std::uint32_t>& words, const json& vector,
                                      const sparsity::MetadataForm& form) {
  const base::Matrix<std::uint8_t> extents = read_nibbles(vector.at("nibbles_row_major"));
  return sparsity::unpack_metadata({words.data(), words.size()}, extents.rows(), extents.cols(), form);
}

TEST(MetadataMatrixVectors, FullGroupsCompressToTheSameWords) {
  int full = 0;
  for (const json& vector : vectors_of(kMatrices)) {
    SCOPED_TRACE(title(vector));
    const DataType type = type_of(vector);
    const CompressedMatrix compressed = sparsity::compress(read_words(vector.at("A_dense"), type), type);
    if (title(vector).ends_with("_full")) {
      EXPECT_EQ(compressed.values, read_words(vector.at("A_compressed"), type));
      EXPECT_EQ(sparsity::pack_metadata(compressed.nibbles, {.type = type}), read_canonical(vector));
      ++full;
    }
  }
  EXPECT_EQ(full, 10);
}

TEST(MetadataMatrixVectors, DecompressToTheDenseMatrixWhicheverWayGroupsWereFilledUp) {
  for (const json& vector : vectors_of(kMatrices)) {
    SCOPED_TRACE(title(vector));
    const DataType type = type_of(vector);
    const base::Matrix<Word> dense = read_words(vector.at("A_dense"), type);
    const CompressedMatrix theirs{.type = type,
                                  .pattern = sparsity::hardware_pattern(type),
                                  .logical_k = dense.cols(),
                                  .values = read_words(vector.at("A_compressed"), type),
                                  .nibbles = nibbles_of(read_canonical(vector), vector, {.type = type})};
    EXPECT_EQ(theirs.nibbles, read_nibbles(vector.at("nibbles_row_major")));
    EXPECT_EQ(sparsity::decompress(theirs), dense);
    EXPECT_EQ(sparsity::decompress(sparsity::compress(dense, type)), dense);
  }
}

TEST(MetadataMatrixVectors, ReorderedMetadataIsEqualAsWords) {
  for (const json& vector : vectors_of(kMatrices)) {
    SCOPED_TRACE(title(vector));
    const base::Matrix<std::uint8_t> nibbles = read_nibbles(vector.at("nibbles_row_major"));
    const sparsity::MetadataForm form{.type = type_of(vector), .order = sparsity::MetadataOrder::kCutlass};
    EXPECT_EQ(sparsity::metadata_element_bits(form.type), vector.at("meta_element_bits").get<int>());
    std::vector<std::uint32_t> expected;
    for (const json& element : vector.at("meta_reordered_flat")) {
      expected.push_back(from_hex(element));
    }
    const base::Matrix<std::uint32_t> reordered = sparsity::pack_metadata(nibbles, form);
    EXPECT_EQ(std::vector(reordered.data(), reordered.data() + reordered.size()), expected);
    EXPECT_EQ(nibbles_of(reordered, vector, form), nibbles);
  }
}

/// Rows and columns of A that one register of the file's lane words covers, and the depth of its
/// instruction.
struct RegisterTile {
  std::size_t rows;
  int logical_k;
};

RegisterTile register_tile(DataType type) {
  switch (numerics::storage_bits(type)) {
    case 32:
      return {32, 16};
    case 8:
      return {16, 64};
    case 4:
      return {16, 128};
    default:
      return {32, 32};
  }
}

TEST(MetadataMatrixVectors, SharedLaneRegistersAreEqualAsWords) {
  int tiles = 0;
  for (const json& vector : vectors_of(kMatrices)) {
    SCOPED_TRACE(title(vector));
    const base::Matrix<std::uint8_t> nibbles = read_nibbles(vector.at("nibbles_row_major"));
    const DataType type = type_of(vector);
    const RegisterTile tile = register_tile(type);
    const auto format = sparsity::metadata_register_format(type, tile.logical_k);
    const std::size_t k_tiles = nibbles.cols() / static_cast<std::size_t>(format.groups());
    // Row tile i of those that share a register takes selector i.
    std::vector<base::Matrix<std::uint32_t>> lanes;
    for (std::size_t i = 0; i < tile.rows / 16; ++i) {
      const sparsity::MetadataForm form{type, sparsity::MetadataOrder::kLanes, tile.logical_k, static_cast<int>(i)};
      lanes.push_back(sparsity::pack_metadata(nibbles, form));
      EXPECT_EQ(nibbles_of(lanes.back(), vector, form), nibbles);
    }
    for (const json& words : vector.at("ptx_lane_words").at("tiles")) {
      const std::size_t row_tile = words.at("row0").get<std::size_t>() / 16;
      const std::size_t k_tile = words.at("k0").get<std::size_t>() / static_cast<std::size_t>(tile.logical_k);
      LaneWords shared{};
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        for (std::size_t lane = 0; lane < shared.size(); ++lane) {
          shared[lane] |= lanes[i]((row_tile + i) * k_tiles + k_tile, lane);
        }
      }
      EXPECT_EQ(shared, read_lane_words(words.at("lane_words"))) << words.at("row0") << ", " << words.at("k0");
      ++tiles;
    }
  }
  EXPECT_EQ(tiles, 2 * (2 + 8) + 2 * 6 + 2 * (2 + 16 + 2) + 2 * (2 + 8) + 2 * 4 + 2 * 4);
}

}  // namespace
}  // namespace sptc::golden
