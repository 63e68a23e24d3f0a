// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/sparsity_fwd.h"
#include "sim/io/tensor_file.h"
#include "sim/kernels/kernels_fwd.h"
#include "sim/workload/operands.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sptc::run {

/// Where the operand values of an operation come from, row by row: a sample needs only its own rows
/// and columns. Weights are unpruned. Everything throws InputError where a file does not hold what
/// the operation needs.
class DataSource {
 public:
  virtual ~DataSource() = default;

  /// Row `row` of A [m, k] of entry `batch`: k words of op.dtype.
  virtual std::vector<numerics::Word> a_row(const workload::Operation& op, std::int64_t batch,
                                            std::int64_t row) const = 0;
  /// Column `column` of B [k, n] of entry `batch`: k words of op.dtype.
  virtual std::vector<numerics::Word> b_column(const workload::Operation& op, std::int64_t batch,
                                               std::int64_t column) const = 0;
};

/// Seeded values; see OperandSource.
class GeneratedData : public DataSource {
 public:
  GeneratedData(workload::DataKind kind, std::uint64_t seed) : source_(kind, seed) {}

  std::vector<numerics::Word> a_row(const workload::Operation& op, std::int64_t batch, std::int64_t row) const override;
  std::vector<numerics::Word> b_column(const workload::Operation& op, std::int64_t batch,
                                       std::int64_t column) const override;

 private:
  workload::OperandSource source_;
};

/// Tensors of a user's files: A [m, k] and B [k, n], with a leading batch axis where the operation
/// has a batch.
class FileData : public DataSource {
 public:
  /// A safetensors file with "<op>.a" and "<op>.b" for each operation, or "a" and "b" where there
  /// is one operation.
  static std::unique_ptr<FileData> open(const std::filesystem::path& path);
  /// Two files with one array each, for a workload of one operation.
  static std::unique_ptr<FileData> open(const std::filesystem::path& a, const std::filesystem::path& b);

  std::vector<numerics::Word> a_row(const workload::Operation& op, std::int64_t batch, std::int64_t row) const override;
  std::vector<numerics::Word> b_column(const workload::Operation& op, std::int64_t batch,
                                       std::int64_t column) const override;

 private:
  /// One operand, converted when an operation first asks for it.
  struct Operand {
    std::string key;
    base::Matrix<numerics::Word> words;  ///< [batch * rows, cols]
  };

  FileData() = default;
  const io::Tensor& find(const workload::Operation& op, const std::string& operand) const;
  const base::Matrix<numerics::Word>& words(const workload::Operation& op, const std::string& operand,
                                            std::int64_t rows, std::int64_t cols, Operand& cache) const;

  std::string place_;
  std::vector<io::TensorFile> files_;  ///< one safetensors file, or A and B
  mutable Operand a_, b_;
};

/// The source that `--data` names: a kind of generated values, or the path of a safetensors file
/// (it ends so).
std::unique_ptr<DataSource> make_data_source(const std::string& data, std::uint64_t seed);

/// What a kernel makes of `row` of A where the weight is quantised, symmetrically: integers times a
/// scale of the operand type for each block. Else the row itself.
std::vector<numerics::Word> as_stored(const workload::Operation& op, std::vector<numerics::Word> row);

/// Rows of A and columns of B of one GEMM of a batch, which meet in rows.size() * columns.size()
/// elements of D.
struct ElementSelection {
  std::int64_t batch = 0;
  std::vector<std::int64_t> rows, columns;
};

ElementSelection whole(std::int64_t batch, std::int64_t rows, std::int64_t columns);

/// Rows `first` to `end` - 1 of A of entry `batch`, with zeros to a K of `depth`.
base::Matrix<numerics::Word> rows_of_a(const workload::Operation& op, const DataSource& data, std::int64_t batch,
                                       std::int64_t first, std::int64_t end, std::int64_t depth);

/// The operands of rows x columns of `op`. Sparse: A pruned by magnitude to the hardware pattern
/// and compressed; K is padded with zeros to a whole group where necessary.
kernels::GemmOperands make_operands(const workload::Operation& op, bool sparse, const DataSource& data,
                                    const ElementSelection& selection);

/// Every row and column of entry `batch`.
kernels::GemmOperands make_operands(const workload::Operation& op, bool sparse, const DataSource& data,
                                    std::int64_t batch);

/// Every row and column of entry `batch` with weights pruned by magnitude to `weights`, as a kernel
/// of `execution` holds them: K is that of the instruction stream. Not for V:N:M, whose rows do not
/// share B.
kernels::GemmOperands pattern_operands(const workload::Operation& op, const DataSource& data,
                                       const sparsity::WeightPattern& weights,
                                       const sparsity::PatternExecution& execution, std::int64_t batch);

}  // namespace sptc::run
