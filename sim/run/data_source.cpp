// SPDX-License-Identifier: Apache-2.0
#include "sim/run/data_source.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/pattern.h"
#include "models/sparsity/prune.h"
#include "models/sparsity/weight_pattern.h"
#include "sim/kernels/gemm_operands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

namespace sptc::run {
namespace {

using numerics::Word;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// [batch * rows, cols] from a tensor whose first axis may hold several of them.
base::Matrix<numerics::Word> reshaped(const io::Tensor& tensor, numerics::DataType type, std::int64_t rows,
                                      std::int64_t cols) {
  const base::Matrix<numerics::Word> flat = io::as_matrix(tensor, type);
  base::Matrix<numerics::Word> result(static_cast<std::size_t>(rows), static_cast<std::size_t>(cols));
  base::ensure(flat.size() == result.size(), "data source: tensor and shape differ in size");
  std::copy(flat.data(), flat.data() + flat.size(), result.data());
  return result;
}

/// Row of a weight of a model. Types of 8 and 4 bits hold it scaled, so that its largest magnitude
/// is theirs; whole numbers that fit are integers of a quantized model and stay as they are.
std::vector<numerics::Word> encoded_row(const workload::Operation& op, std::int64_t batch, std::int64_t row) {
  const std::vector<float> values = op.values->row(batch, row);
  base::ensure(values.size() == static_cast<std::size_t>(op.shape.k), "data source: a weight of another k");
  const bool narrow = numerics::storage_bits(op.dtype) <= 8;
  const double largest = op.values->largest();
  const double most = op.dtype == numerics::DataType::kE4m3   ? 448
                      : op.dtype == numerics::DataType::kE5m2 ? 57344
                      : op.dtype == numerics::DataType::kS4   ? 7
                                                              : 127;
  const bool as_it_is = !narrow || largest == 0 || (op.values->integral() && largest <= (most == 7 ? 8 : 128));
  const double scale = as_it_is ? 1 : most / largest;
  std::vector<numerics::Word> words;
  words.reserve(values.size());
  for (const float value : values) {
    words.push_back(numerics::from_double(value * scale, op.dtype));
  }
  return words;
}

}  // namespace

std::vector<numerics::Word> GeneratedData::a_row(const workload::Operation& op, std::int64_t batch,
                                                 std::int64_t row) const {
  return op.values ? encoded_row(op, batch, row) : source_.a_row(op, batch, row);
}

std::vector<numerics::Word> GeneratedData::b_column(const workload::Operation& op, std::int64_t batch,
                                                    std::int64_t column) const {
  return source_.b_column(op, batch, column);
}

std::unique_ptr<FileData> FileData::open(const std::filesystem::path& path) {
  std::unique_ptr<FileData> data(new FileData());
  data->place_ = path.string();
  data->files_.push_back(io::TensorFile::open(path));
  return data;
}

std::unique_ptr<FileData> FileData::open(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::unique_ptr<FileData> data(new FileData());
  for (const std::filesystem::path& path : {a, b}) {
    data->place_ += (data->place_.empty() ? "" : ", ") + path.string();
    data->files_.push_back(io::TensorFile::open(path));
    if (data->files_.back().tensors().size() != 1) {
      throw base::InputError(path.string() + ": holds " + std::to_string(data->files_.back().tensors().size()) +
                             " arrays where exactly one is expected");
    }
  }
  return data;
}

const io::Tensor& FileData::find(const workload::Operation& op, const std::string& operand) const {
  if (files_.size() == 2) {
    return files_[operand == "a" ? 0 : 1].tensors().front();
  }
  for (const io::Tensor& tensor : files_.front().tensors()) {
    if (tensor.name == op.name + "." + operand) {
      return tensor;
    }
  }
  // A file for a single GEMM may say just "a" and "b".
  for (const io::Tensor& tensor : files_.front().tensors()) {
    if (tensor.name == operand) {
      return tensor;
    }
  }
  return files_.front().tensor(op.name + "." + operand);  // throws, with the nearest name
}

const base::Matrix<numerics::Word>& FileData::words(const workload::Operation& op, const std::string& operand,
                                                    std::int64_t rows, std::int64_t cols, Operand& cache) const {
  const std::vector<std::int64_t> with_batch{op.batch, rows, cols};
  const std::string key =
      op.name + "." + operand + ":" + std::string(numerics::name(op.dtype)) + shape_text(with_batch);
  if (cache.key == key) {
    return cache.words;
  }
  const io::Tensor& tensor = find(op, operand);
  const std::vector<std::int64_t> without{rows, cols};
  if (tensor.shape != with_batch && (op.batch != 1 || tensor.shape != without)) {
    throw base::InputError(place_ + ": tensor '" + tensor.name + "' has shape " + shape_text(tensor.shape) +
                           " where operand " + (operand == "a" ? "A" : "B") + " of '" + op.name + "' needs " +
                           shape_text(op.batch == 1 ? without : with_batch));
  }
  cache.words = reshaped(tensor, op.dtype, op.batch * rows, cols);
  cache.key = key;
  return cache.words;
}

std::vector<numerics::Word> FileData::a_row(const workload::Operation& op, std::int64_t batch, std::int64_t row) const {
  const base::Matrix<numerics::Word>& all = words(op, "a", op.shape.m, op.shape.k, a_);
  const auto values = all.row(static_cast<std::size_t>(batch * op.shape.m + row));
  return {values.begin(), values.end()};
}

std::vector<numerics::Word> FileData::b_column(const workload::Operation& op, std::int64_t batch,
                                               std::int64_t column) const {
  const base::Matrix<numerics::Word>& all = words(op, "b", op.shape.k, op.shape.n, b_);
  std::vector<numerics::Word> values(static_cast<std::size_t>(op.shape.k));
  for (std::int64_t k = 0; k < op.shape.k; ++k) {
    values[static_cast<std::size_t>(k)] =
        all(static_cast<std::size_t>(batch * op.shape.k + k), static_cast<std::size_t>(column));
  }
  return values;
}

std::vector<numerics::Word> as_stored(const workload::Operation& op, std::vector<numerics::Word> row) {
  if (!op.storage.weight) {
    return row;
  }
  const int bits = numerics::storage_bits(*op.storage.weight);
  const double most = (1 << (bits - 1)) - 1;
  const auto block = op.storage.scale_block > 0 ? static_cast<std::size_t>(op.storage.scale_block)
                                                : std::max<std::size_t>(1, row.size());
  for (std::size_t first = 0; first < row.size(); first += block) {
    const std::span<numerics::Word> part = std::span(row).subspan(first, std::min(block, row.size() - first));
    double largest = 0;
    for (const numerics::Word word : part) {
      largest = std::max(largest, std::abs(numerics::to_double(word, op.dtype)));
    }
    const double scale = numerics::rounded(largest / most, op.dtype);
    for (numerics::Word& word : part) {
      const double integer =
          scale > 0 ? std::clamp(std::nearbyint(numerics::to_double(word, op.dtype) / scale), -most, most) : 0;
      word = numerics::from_double(integer * scale + 0.0, op.dtype);  // no negative zero
    }
  }
  return row;
}

std::unique_ptr<DataSource> make_data_source(const std::string& data, std::uint64_t seed) {
  if (std::string_view(data).ends_with(".safetensors")) {
    return FileData::open(data);
  }
  try {
    return std::make_unique<GeneratedData>(workload::parse_data_kind(data), seed);
  } catch (const base::InputError& error) {
    throw base::InputError(std::string(error.what()) + ", or the path of a .safetensors file");
  }
}

namespace {

/// Rows of `cols` words, as many as `from` has, each what `row` says of its place and zeros behind
/// it.
template <typename Row>
base::Matrix<Word> stacked(const std::vector<std::int64_t>& from, std::int64_t cols, const Row& row) {
  base::Matrix<Word> result(from.size(), static_cast<std::size_t>(cols));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::vector<Word> words = row(from[i]);
    std::copy(words.begin(), words.end(), result.row(i).begin());
  }
  return result;
}

std::vector<std::int64_t> places(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(end - first));
  std::iota(result.begin(), result.end(), first);
  return result;
}

/// The column of the weights at each place of the instruction stream. A decomposition runs windows
/// of 4 columns, each 2 after the one before.
std::vector<std::size_t> stream_columns(const sparsity::PatternExecution& execution, std::size_t executed_k) {
  std::vector<std::size_t> columns(executed_k);
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  if (execution.k_numerator > execution.k_denominator) {
    const auto streamed = static_cast<std::size_t>(execution.k_numerator);
    for (std::size_t p = 0; p < executed_k; ++p) {
      const std::size_t in_group = p % streamed;
      columns[p] = p / streamed * static_cast<std::size_t>(execution.group) + in_group / 4 * 2 + in_group % 4;
    }
  }
  return columns;
}

/// What each row keeps: as mma.sp has it, or with indices of its own.
void compress_kept(const std::vector<sparsity::KeptElements>& rows, const std::vector<std::size_t>& columns,
                   const sparsity::Pattern& executed, numerics::DataType type, kernels::GemmOperands& operands) {
  const auto kept = static_cast<std::size_t>(executed.kept);
  const auto group = static_cast<std::size_t>(executed.group);
  base::Matrix<Word> stream(rows.size(), columns.size());
  operands.compressed_a = {
      type, executed, columns.size(), base::Matrix<Word>(rows.size(), columns.size() / group * kept), {}};
  operands.indices = base::Matrix<std::uint8_t>(rows.size(), columns.size() / group * kept);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t slot = 0; slot < rows[i].values.size(); ++slot) {
      const std::size_t first = slot / kept * group;
      const std::size_t index = rows[i].columns[slot] - columns[first];
      stream(i, first + index) = rows[i].values[slot];
      operands.compressed_a.values(i, slot) = rows[i].values[slot];
      operands.indices(i, slot) = static_cast<std::uint8_t>(index);
    }
  }
  if (executed == sparsity::hardware_pattern(type)) {
    operands.compressed_a = sparsity::compress(stream, type);
  }
}

}  // namespace

ElementSelection whole(std::int64_t batch, std::int64_t rows, std::int64_t columns) {
  return {batch, places(0, rows), places(0, columns)};
}

base::Matrix<Word> rows_of_a(const workload::Operation& op, const DataSource& data, std::int64_t batch,
                             std::int64_t first, std::int64_t end, std::int64_t depth) {
  return stacked(places(first, end), depth, [&](std::int64_t row) { return data.a_row(op, batch, row); });
}

kernels::GemmOperands make_operands(const workload::Operation& op, bool sparse, const DataSource& data,
                                    const ElementSelection& selection) {
  const std::int64_t k = sparse ? base::round_up(op.shape.k, sparsity::hardware_pattern(op.dtype).group) : op.shape.k;
  base::Matrix<Word> a =
      stacked(selection.rows, k, [&](std::int64_t row) { return as_stored(op, data.a_row(op, selection.batch, row)); });
  kernels::GemmOperands operands;
  operands.b_columns =
      stacked(selection.columns, k, [&](std::int64_t column) { return data.b_column(op, selection.batch, column); });
  if (sparse) {
    operands.compressed_a = sparsity::compress(sparsity::prune_by_magnitude(a, op.dtype), op.dtype);
  } else {
    operands.a = std::move(a);
  }
  return operands;
}

kernels::GemmOperands make_operands(const workload::Operation& op, bool sparse, const DataSource& data,
                                    std::int64_t batch) {
  return make_operands(op, sparse, data, whole(batch, op.shape.m, op.shape.n));
}

kernels::GemmOperands pattern_operands(const workload::Operation& op, const DataSource& data,
                                       const sparsity::WeightPattern& weights,
                                       const sparsity::PatternExecution& execution, std::int64_t batch) {
  base::ensure(execution.vector_rows == 0, "rows of V:N:M weights do not share B");
  const std::int64_t depth = base::round_up(op.shape.k, execution.group);
  const auto executed_k = static_cast<std::size_t>(execution.executed_k(op.shape.k));
  const std::vector<std::size_t> columns = stream_columns(execution, executed_k);
  kernels::GemmOperands operands;
  compress_kept(sparsity::prune_to_kept(rows_of_a(op, data, batch, 0, op.shape.m, depth), op.dtype, weights, execution),
                columns, execution.instruction, op.dtype, operands);
  operands.b_columns = base::Matrix<Word>(static_cast<std::size_t>(op.shape.n), executed_k);
  for (std::int64_t j = 0; j < op.shape.n; ++j) {
    std::vector<Word> column = data.b_column(op, batch, j);
    column.resize(static_cast<std::size_t>(depth));
    std::transform(columns.begin(), columns.end(), operands.b_columns.row(static_cast<std::size_t>(j)).begin(),
                   [&](std::size_t k) { return column[k]; });
  }
  return operands;
}

}  // namespace sptc::run
