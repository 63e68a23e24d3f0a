// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/gemm_data.h"

#include "models/base/error.h"
#include "models/base/random.h"
#include "models/batched/gemm.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

namespace sptc::hardware {
namespace {

using mma::MmaInstruction;
using numerics::DataType;
using numerics::Word;

constexpr std::size_t kPool = 65521;  // a prime, so that no stride repeats early
constexpr int kMaxExtent = 1 << 20;

int round_up(int value, int step) {
  return (value + step - 1) / step * step;
}

int parse_extent(const std::string& text, const std::string& place) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxExtent) {
    throw base::InputError(
        fmt::format("{}: '{}' must be an integer from 1 to {}", place, io::printable(text), kMaxExtent));
  }
  return value;
}

}  // namespace

std::vector<GemmShape> read_gemm_shapes(const std::filesystem::path& file) {
  constexpr std::uint64_t kMaxBytes = 1 << 20;
  std::istringstream lines(io::read_text_file(file, kMaxBytes));
  const std::string shown = io::printable(file.string());
  std::vector<GemmShape> shapes;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string place = fmt::format("{}, line {}", shown, number);
    if (number == 1) {
      if (line != "m,n,k,name") {
        throw base::InputError(place + ": the header must be 'm,n,k,name'");
      }
      continue;
    }
    std::istringstream fields(line);
    std::array<std::string, 3> extents;
    GemmShape shape;
    for (std::string& extent : extents) {
      std::getline(fields, extent, ',');
    }
    std::getline(fields, shape.name);
    shape.m = parse_extent(extents[0], place);
    shape.n = parse_extent(extents[1], place);
    shape.k = parse_extent(extents[2], place);
    if (shape.name.empty()) {
      throw base::InputError(place + ": the name is missing");
    }
    shapes.push_back(std::move(shape));
  }
  if (shapes.empty()) {
    throw base::InputError(shown + ": holds no shape");
  }
  return shapes;
}

GemmData::GemmData(const MmaInstruction& instruction, const GemmShape& shape, bool random, std::uint64_t seed,
                   const GemmPadding& padding)
    : instruction_(instruction),
      shape_(shape),
      padded_m_(round_up(shape.m, padding.tile)),
      padded_n_(round_up(shape.n, padding.tile)),
      steps_(round_up((shape.k + instruction.shape.k - 1) / instruction.shape.k, padding.steps_at_once)),
      bytes_(static_cast<std::size_t>(numerics::storage_bits(instruction.a_type)) / 8),
      pool_(kPool, 0) {
  if (shape.m < 1 || shape.n < 1 || shape.k < 1 || shape.k % 4 != 0) {
    throw base::InputError(fmt::format("a GEMM of {} x {} x {}: extents must be positive, and k a multiple of 4",
                                       shape.m, shape.n, shape.k));
  }
  const base::RandomStream stream = base::RandomStream(seed).fork("gemm");
  for (std::size_t i = 0; i < kPool && random; ++i) {
    pool_[i] = instruction.a_type == DataType::kS8 ? static_cast<Word>(stream.bits(i) & 0xFF)
                                                   : numerics::from_double(stream.normal(i), instruction.a_type);
  }
}

float GemmData::s8_scale() const {
  // Uniform bytes have a standard deviation of 74, and k products one of 74^2 sqrt(k).
  constexpr int kBitsOfAProduct = 7;
  return static_cast<float>(std::exp2(-kBitsOfAProduct - std::ceil(std::log2(shape_.k) / 2)));
}

Word GemmData::a(int row, int col) const {
  const int stored = instruction_.sparse ? shape_.k / 2 : shape_.k;
  if (row >= shape_.m || col >= stored) {
    return 0;
  }
  return pool_[(static_cast<std::size_t>(row) * 7919 + static_cast<std::size_t>(col) * 31) % kPool];
}

Word GemmData::b(int k, int column) const {
  if (k >= shape_.k || column >= shape_.n) {
    return 0;
  }
  return pool_[(static_cast<std::size_t>(column) * 6007 + static_cast<std::size_t>(k) * 37 + 11) % kPool];
}

std::uint8_t GemmData::nibble(int row, int group) const {
  constexpr std::array<std::uint8_t, 6> kOrdered{0x4, 0x8, 0x9, 0xC, 0xD, 0xE};
  if (row >= shape_.m || group >= shape_.k / 4) {
    return sparsity::kEmptyGroupNibble;
  }
  return kOrdered[static_cast<std::size_t>(row * 5 + group * 3 + (row ^ group) / 4) % kOrdered.size()];
}

void GemmData::put(std::vector<std::uint8_t>& to, std::size_t element, Word word) const {
  to[element * bytes_] = static_cast<std::uint8_t>(word);
  if (bytes_ == 2) {
    to[element * bytes_ + 1] = static_cast<std::uint8_t>(word >> 8);
  }
}

template <typename At>
std::vector<std::uint8_t> GemmData::packed(int lines, int padded, int length, At at) const {
  const auto pitch = static_cast<std::size_t>(length);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(padded) * pitch * bytes_);
  for (int line = 0; line < lines; ++line) {
    for (int i = 0; i < length; ++i) {
      put(bytes, static_cast<std::size_t>(line) * pitch + static_cast<std::size_t>(i), at(line, i));
    }
  }
  return bytes;
}

std::vector<std::uint8_t> GemmData::pack_a() const {
  return packed(shape_.m, padded_m_, steps_ * instruction_.compressed_k(),
                [this](int row, int col) { return a(row, col); });
}

std::vector<std::uint8_t> GemmData::pack_b() const {
  return packed(shape_.n, padded_n_, steps_ * instruction_.shape.k, [this](int column, int k) { return b(k, column); });
}

std::vector<std::uint32_t> GemmData::pack_metadata() const {
  const auto format = sparsity::metadata_register_format(instruction_.a_type, instruction_.shape.k);
  constexpr int kRows = 16;
  base::Matrix<std::uint8_t> nibbles(kRows, static_cast<std::size_t>(format.groups()));
  std::vector<std::uint32_t> words;
  for (int tile = 0; tile < padded_m_ / kRows; ++tile) {
    for (int step = 0; step < steps_; ++step) {
      for (int row = 0; row < kRows; ++row) {
        for (int group = 0; group < format.groups(); ++group) {
          nibbles(static_cast<std::size_t>(row), static_cast<std::size_t>(group)) =
              nibble(tile * kRows + row, step * format.groups() + group);
        }
      }
      const sparsity::LaneWords lanes = sparsity::gather_metadata(format, 0, nibbles, 0, 0);
      words.insert(words.end(), lanes.begin(), lanes.end());
    }
  }
  return words;
}

std::vector<std::uint8_t> GemmData::dense_a() const {
  const auto k = static_cast<std::size_t>(shape_.k);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(shape_.m) * k * bytes_);
  const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction_.a_type);
  for (int row = 0; row < shape_.m; ++row) {
    const std::size_t first = static_cast<std::size_t>(row) * k;
    for (int col = 0; col < (instruction_.sparse ? shape_.k / 2 : shape_.k); ++col) {
      const int where =
          instruction_.sparse ? col / 2 * 4 + sparsity::selected_position(nibble(row, col / 2), col % 2, pattern) : col;
      put(bytes, first + static_cast<std::size_t>(where), a(row, col));
    }
  }
  return bytes;
}

std::vector<std::uint8_t> GemmData::dense_b() const {
  return packed(shape_.n, shape_.n, shape_.k, [this](int column, int k) { return b(k, column); });
}

std::vector<int> sample_lines(int extent, int count) {
  std::vector<int> lines;
  for (int i = 0; i < std::min(extent, count); ++i) {
    lines.push_back(count >= extent ? i : static_cast<int>(static_cast<std::int64_t>(i) * (extent - 1) / (count - 1)));
  }
  return lines;
}

GemmCheck check_bits(const GemmData& data, const mma::Target& target, const std::vector<int>& rows,
                     const std::vector<int>& columns, const std::vector<std::uint32_t>& d) {
  const MmaInstruction& instruction = data.instruction();
  const auto k = static_cast<std::size_t>(data.shape().k);
  const std::size_t stored = instruction.sparse ? k / 2 : k;
  base::Matrix<Word> values(rows.size(), stored);
  base::Matrix<std::uint8_t> nibbles(rows.size(), k / 4);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t t = 0; t < stored; ++t) {
      values(i, t) = data.a(rows[i], static_cast<int>(t));
    }
    for (std::size_t g = 0; g < k / 4; ++g) {
      nibbles(i, g) = data.nibble(rows[i], static_cast<int>(g));
    }
  }
  base::Matrix<Word> b_columns(columns.size(), k);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    for (std::size_t t = 0; t < k; ++t) {
      b_columns(j, t) = data.b(static_cast<int>(t), columns[j]);
    }
  }
  batched::GemmOperands operands;
  operands.b_columns = &b_columns;
  sparsity::CompressedMatrix compressed;
  if (instruction.sparse) {
    compressed = {instruction.a_type, sparsity::hardware_pattern(instruction.a_type), k, values, nibbles};
    operands.compressed_a = &compressed;
  } else {
    operands.a = &values;
  }
  const base::Matrix<Word> expected = batched::gemm(instruction, mma::instruction_rules(target, instruction), operands);
  GemmCheck check{.mode = "bits", .elements = d.size()};
  base::ensure(expected.size() == d.size(), "check_bits: another number of elements");
  for (std::size_t i = 0; i < d.size(); ++i) {
    check.mismatches += expected.data()[i] != d[i];
  }
  return check;
}

GemmCheck check_bound(const GemmData& data, const std::vector<int>& rows, const std::vector<int>& columns,
                      const std::vector<double>& d, const std::string& d_type) {
  const MmaInstruction& instruction = data.instruction();
  const sparsity::Pattern pattern = sparsity::hardware_pattern(instruction.a_type);
  const int stored = instruction.sparse ? data.shape().k / 2 : data.shape().k;
  // Half a unit in the last place, relative.
  const double unit = d_type == "f16" ? 0x1p-11 : d_type == "bf16" ? 0x1p-8 : 0x1p-24;
  GemmCheck check{.mode = "bound", .elements = d.size()};
  std::size_t next = 0;
  for (const int row : rows) {
    for (const int column : columns) {
      double sum = 0;
      double magnitude = 0;
      for (int t = 0; t < stored; ++t) {
        const int k =
            instruction.sparse ? t / 2 * 4 + sparsity::selected_position(data.nibble(row, t / 2), t % 2, pattern) : t;
        const double product = numerics::to_double(data.a(row, t), instruction.a_type) *
                               numerics::to_double(data.b(k, column), instruction.b_type);
        sum += product;
        magnitude += std::abs(product);
      }
      const double bound = d_type == "s32" ? 0 : data.shape().k * 0x1p-21 * magnitude + unit * std::abs(sum);
      const double error = std::abs(d.at(next++) - sum);
      check.mismatches += !(error <= bound);  // a NaN is a mismatch
      if (next == 1 || error > check.worst_error) {
        check.worst_error = error;
        check.bound = bound;
      }
    }
  }
  return check;
}

}  // namespace sptc::hardware
