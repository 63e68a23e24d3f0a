// SPDX-License-Identifier: Apache-2.0
#include "sim/run/check.h"

#include "models/base/error.h"
#include "models/base/random.h"
#include "models/batched/gemm.h"
#include "models/mma/dot_step.h"
#include "models/numerics/codec.h"
#include "models/sparsity/compress.h"
#include "sim/io/memory_guard.h"
#include "sim/io/text_file.h"
#include "sim/kernels/gemm_kernel.h"

#include <algorithm>
#include <set>
#include <string>

namespace sptc::run {
namespace {

using numerics::Word;

constexpr std::int64_t kSampleElements = 256;
constexpr std::int64_t kSampleEdge = 16;
constexpr std::int64_t kSampleBatches = 4;
/// The reference and its bound take a few nanoseconds per multiply-accumulate: a minute, not hours.
constexpr std::int64_t kMacsLimit = std::int64_t{1} << 34;
/// The plain arithmetic takes tens of nanoseconds for each: minutes.
constexpr std::int64_t kPlainMacsLimit = std::int64_t{1} << 32;

/// `count` distinct numbers below `bound`, sorted (Floyd's algorithm, Bentley and Floyd, CACM
/// 30(9), 1987).
std::vector<std::int64_t> distinct(const base::RandomStream& stream, std::int64_t count, std::int64_t bound) {
  std::set<std::int64_t> chosen;
  for (std::int64_t j = bound - count; j < bound; ++j) {
    const auto t =
        static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(j + 1)));
    if (!chosen.insert(t).second) {
      chosen.insert(j);
    }
  }
  return {chosen.begin(), chosen.end()};
}

bool holds_special(const base::Matrix<Word>& words, numerics::DataType type) {
  if (!numerics::info(type).is_float()) {
    return false;
  }
  return std::any_of(words.data(), words.data() + words.size(), [type](Word word) {
    return numerics::unpack(word, *numerics::info(type).format).kind != numerics::Unpacked::Class::kFinite;
  });
}

/// [m, logical_k], 1 where an index selects.
base::Matrix<std::uint8_t> selection_mask(const sparsity::CompressedMatrix& a) {
  base::Matrix<std::uint8_t> mask(a.rows(), a.logical_k);
  for (std::size_t i = 0; i < a.nibbles.rows(); ++i) {
    for (std::size_t g = 0; g < a.nibbles.cols(); ++g) {
      for (int slot = 0; slot < a.pattern.kept; ++slot) {
        const int position = sparsity::selected_position(a.nibbles(i, g), slot, a.pattern);
        mask(i, g * static_cast<std::size_t>(a.pattern.group) + static_cast<std::size_t>(position)) = 1;
      }
    }
  }
  return mask;
}

template <typename T>
base::Matrix<T> take_rows(const base::Matrix<T>& from, const std::vector<std::int64_t>& rows) {
  base::Matrix<T> result(rows.size(), from.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = from.row(static_cast<std::size_t>(rows[i]));
    std::copy(row.begin(), row.end(), result.row(i).begin());
  }
  return result;
}

kernels::GemmOperands take(const kernels::GemmOperands& from, bool sparse, const ElementSelection& selection) {
  kernels::GemmOperands result;
  result.b_columns = take_rows(from.b_columns, selection.columns);
  if (sparse) {
    result.compressed_a = from.compressed_a;
    result.compressed_a.values = take_rows(from.compressed_a.values, selection.rows);
    result.compressed_a.nibbles = take_rows(from.compressed_a.nibbles, selection.rows);
  } else {
    result.a = take_rows(from.a, selection.rows);
  }
  return result;
}

base::Matrix<Word> take(const base::Matrix<Word>& d, const ElementSelection& selection) {
  base::Matrix<Word> result(selection.rows.size(), selection.columns.size());
  for (std::size_t i = 0; i < selection.rows.size(); ++i) {
    for (std::size_t j = 0; j < selection.columns.size(); ++j) {
      result(i, j) = d(static_cast<std::size_t>(selection.rows[i]), static_cast<std::size_t>(selection.columns[j]));
    }
  }
  return result;
}

void require_bounded_work(const workload::Operation& op, CheckMode mode) {
  const double macs = base::product({op.shape.m, op.shape.n, op.shape.k, op.batch});
  const bool exact = mode == CheckMode::kExact;
  if (macs > static_cast<double>(exact ? kPlainMacsLimit : kMacsLimit)) {
    throw base::InputError("--check " + std::string(name(mode)) + " computes every element of '" + op.name +
                           "', which without --fidelity datapath is limited to 2^" + (exact ? "32" : "34") +
                           " multiply-accumulates per operation: use --check sample, or --fidelity "
                           "datapath");
  }
}

}  // namespace

Arithmetic::Arithmetic(std::string_view numerics, numerics::DataType operand, bool sparse)
    : instruction(mma::gemm_instruction(operand, sparse)), rules(mma::step_rules(numerics, instruction)) {}

Arithmetic::Arithmetic(const gpu::GpuSpec& gpu, numerics::DataType operand, bool sparse)
    : instruction(mma::gemm_instruction(operand, sparse)),
      rules(gpu.step_rules(kernels::usual_instruction({{}, 1, operand, sparse}, gpu.kernel_target()))) {}

std::vector<ElementSelection> sample_elements(const base::GemmShape& shape, std::int64_t batch, std::uint64_t seed) {
  // m * n may not fit 64 bits; 256 or more is all that matters.
  const std::int64_t per_gemm = shape.m >= kSampleElements || shape.n >= kSampleElements
                                    ? kSampleElements
                                    : std::min(shape.m * shape.n, kSampleElements);
  const std::int64_t batches = std::min(batch, std::max(kSampleBatches, base::ceil_div(kSampleElements, per_gemm)));
  const std::int64_t wanted = std::min(per_gemm, base::ceil_div(kSampleElements, batches));
  std::int64_t rows = std::min(shape.m, kSampleEdge);
  const std::int64_t columns = std::min(shape.n, base::ceil_div(wanted, rows));
  rows = std::min(shape.m, std::max(rows, base::ceil_div(wanted, columns)));

  const base::RandomStream stream = base::RandomStream(seed).fork("sample");
  std::vector<ElementSelection> selections;
  for (const std::int64_t entry : distinct(stream.fork("batch"), batches, batch)) {
    const base::RandomStream of_entry = stream.fork(std::to_string(entry));
    selections.push_back(
        {entry, distinct(of_entry.fork("row"), rows, shape.m), distinct(of_entry.fork("column"), columns, shape.n)});
  }
  return selections;
}

base::Matrix<Word> plain_gemm(const kernels::GemmOperands& operands, const Arithmetic& arithmetic) {
  const bool sparse = arithmetic.instruction.sparse;
  const sparsity::CompressedMatrix& compressed = operands.compressed_a;
  base::Matrix<Word> d(sparse ? compressed.rows() : operands.a.rows(), operands.b_columns.rows());
  for (std::size_t i = 0; i < d.rows(); ++i) {
    for (std::size_t j = 0; j < d.cols(); ++j) {
      const auto column = operands.b_columns.row(j);
      d(i, j) = sparse ? mma::sparse_dot(compressed.values.row(i), compressed.nibbles.row(i), column, 0,
                                         arithmetic.instruction, arithmetic.rules)
                       : mma::dense_dot(operands.a.row(i), column, 0, arithmetic.instruction, arithmetic.rules);
    }
  }
  return d;
}

reference::Findings check_against_reference(const kernels::GemmOperands& operands, const base::Matrix<Word>& d,
                                            const Arithmetic& arithmetic) {
  const mma::StepRules& rules = arithmetic.rules;
  const mma::MmaInstruction& instruction = arithmetic.instruction;
  // The bound is derived for these roundings and no others.
  const bool to_nearest = rules.output == numerics::DataType::kF16;
  base::ensure(rules.is_integer() || to_nearest == (rules.rounding == mma::OutputRounding::kNearestEven),
               "check: a rounding without a bound");
  reference::BlockFma block_fma{rules.products_per_step, rules.fraction_bits,       rules.exponent_floor,
                                rules.products_per_step, rules.cleared_output_bits, rules.output,
                                rules.lowered_fp8};
  reference::GemmInputs inputs{instruction.a_type, &operands.a, &operands.b_columns, nullptr};
  base::Matrix<Word> dense_a;
  base::Matrix<std::uint8_t> selected;
  if (instruction.sparse) {
    const sparsity::Pattern& pattern = operands.compressed_a.pattern;
    block_fma.logical_k_per_step = rules.products_per_step * pattern.group / pattern.kept;
    dense_a = sparsity::decompress(operands.compressed_a);
    inputs.a = &dense_a;
    if (holds_special(operands.b_columns, instruction.b_type)) {
      selected = selection_mask(operands.compressed_a);
      inputs.selected = &selected;
    }
  }
  return reference::check_against_reference(inputs, block_fma, d, instruction.accumulator);
}

namespace {

void add_findings(const reference::Findings& findings, const ElementSelection& selection, CheckResult& result) {
  if (result.elements == 0 || findings.worst_error > result.worst_error) {
    result.worst_error = findings.worst_error;
    result.bound = findings.bound_at_worst;
  }
  result.worst_ratio = std::max(result.worst_ratio, findings.worst_ratio);
  result.elements += findings.elements;
  result.mismatches += findings.mismatches;
  result.undecided += findings.undecided;
  if (!result.first_violation && findings.first_violation) {
    const reference::Violation& found = *findings.first_violation;
    result.first_violation =
        Violation{selection.batch, selection.rows[found.row], selection.columns[found.col], found.got, found.expected};
  }
}

/// Compares `d`, which is of `operands`.
reference::Findings findings_of(CheckMode mode, const kernels::GemmOperands& operands, const base::Matrix<Word>& d,
                                const Arithmetic& arithmetic) {
  return mode == CheckMode::kExact
             ? reference::check_bits(d, plain_gemm(operands, arithmetic), arithmetic.instruction.accumulator)
             : check_against_reference(operands, d, arithmetic);
}

/// D as plain_gemm() has it, by the batched engine.
base::Matrix<Word> batched_gemm(const kernels::GemmOperands& operands, const Arithmetic& arithmetic) {
  batched::GemmOperands input;
  if (arithmetic.instruction.sparse) {
    input.compressed_a = &operands.compressed_a;
  } else {
    input.a = &operands.a;
  }
  input.b_columns = &operands.b_columns;
  return batched::gemm(arithmetic.instruction, arithmetic.rules, input);
}

/// `computed`: D is there, so that every element may be looked at.
std::vector<ElementSelection> checked_selections(CheckMode mode, const workload::Operation& op, std::uint64_t seed,
                                                 bool computed = false) {
  if (mode == CheckMode::kSample) {
    return sample_elements(op.shape, op.batch, seed);
  }
  std::vector<ElementSelection> selections;
  if (mode != CheckMode::kNone) {
    if (!computed) {
      require_bounded_work(op, mode);
    }
    for (std::int64_t entry = 0; entry < op.batch; ++entry) {
      selections.push_back(whole(entry, op.shape.m, op.shape.n));
    }
  }
  return selections;
}

void require_check_memory(const workload::Operation& op, const ElementSelection& selection) {
  const auto words =
      static_cast<double>(selection.rows.size() + selection.columns.size()) * static_cast<double>(op.shape.k) +
      static_cast<double>(selection.rows.size()) * static_cast<double>(selection.columns.size());
  // Operands, their pruned and compressed copies, and D: four words each at the most.
  io::require_memory(static_cast<std::uint64_t>(std::min(words * 16, 1e18)),
                     "the checked elements of '" + op.name + "'");
}

/// Row `row` of A, pruned; with V:N:M its block of rows decides.
sparsity::KeptElements kept_of(const workload::Operation& op, const DataSource& data,
                               const sparsity::WeightPattern& weights, const sparsity::PatternExecution& execution,
                               std::int64_t batch, std::int64_t row) {
  const std::int64_t rows = std::max(1, execution.vector_rows);
  const std::int64_t first = row / rows * rows;
  const std::int64_t end = std::min(op.shape.m, first + rows);
  return sparsity::prune_to_kept(rows_of_a(op, data, batch, first, end, base::round_up(op.shape.k, execution.group)),
                                 op.dtype, weights, execution)[static_cast<std::size_t>(row - first)];
}

}  // namespace

CheckResult check_timing(CheckMode mode, const workload::Operation& op, bool sparse, const DataSource& data,
                         const Arithmetic& arithmetic, std::uint64_t seed) {
  CheckResult result;
  result.mode = name(mode);
  for (const ElementSelection& selection : checked_selections(mode, op, seed)) {
    require_check_memory(op, selection);
    const kernels::GemmOperands operands = make_operands(op, sparse, data, selection);
    add_findings(findings_of(mode, operands, batched_gemm(operands, arithmetic), arithmetic), selection, result);
  }
  return result;
}

CheckResult check_pattern(CheckMode mode, const workload::Operation& op, const DataSource& data,
                          const sparsity::WeightPattern& weights, const sparsity::PatternExecution& execution,
                          const Arithmetic& arithmetic, std::uint64_t seed, const std::vector<base::Matrix<Word>>* d) {
  CheckResult result;
  result.mode = name(mode);
  for (const ElementSelection& selection : checked_selections(mode, op, seed, d != nullptr)) {
    require_check_memory(op, selection);
    std::vector<std::vector<Word>> columns;
    for (const std::int64_t column : selection.columns) {
      columns.push_back(data.b_column(op, selection.batch, column));
      columns.back().resize(static_cast<std::size_t>(base::round_up(op.shape.k, execution.group)));
    }
    for (const std::int64_t row : selection.rows) {
      const sparsity::KeptElements kept = kept_of(op, data, weights, execution, selection.batch, row);
      const std::size_t depth = kept.values.size();
      kernels::GemmOperands operands;
      operands.a = base::Matrix<Word>(1, depth);
      operands.b_columns = base::Matrix<Word>(columns.size(), depth);
      std::copy(kept.values.begin(), kept.values.end(), operands.a.row(0).begin());
      for (std::size_t j = 0; j < columns.size(); ++j) {
        for (std::size_t i = 0; i < depth; ++i) {
          operands.b_columns(j, i) = columns[j][kept.columns[i]];
        }
      }
      const ElementSelection of_row{selection.batch, {row}, selection.columns};
      const base::Matrix<Word> found = d == nullptr ? batched_gemm(operands, arithmetic)
                                                    : take((*d)[static_cast<std::size_t>(selection.batch)], of_row);
      add_findings(findings_of(mode, operands, found, arithmetic), of_row, result);
    }
  }
  return result;
}

CheckResult check_entries(const std::vector<kernels::GemmOperands>& operands, const std::vector<base::Matrix<Word>>& d,
                          const Arithmetic& arithmetic, const SimulationOptions& options, CheckResult so_far) {
  const CheckMode mode = options.check_mode();
  so_far.mode = name(mode);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto entry = static_cast<std::int64_t>(i);
    const auto m = static_cast<std::int64_t>(d[i].rows());
    const auto n = static_cast<std::int64_t>(d[i].cols());
    if (mode == CheckMode::kSample) {
      ElementSelection sample = sample_elements({m, n, 1}, 1, options.seed).front();
      sample.batch = entry;
      add_findings(
          findings_of(mode, take(operands[i], arithmetic.instruction.sparse, sample), take(d[i], sample), arithmetic),
          sample, so_far);
    } else {
      add_findings(findings_of(mode, operands[i], d[i], arithmetic), whole(entry, m, n), so_far);
    }
  }
  return so_far;
}

bool is_hardware(const SimulationOptions& options, numerics::DataType type, const gpu::GpuSpec& gpu) {
  const sparsity::PatternExecution execution = weights_execution(options.pattern, type, gpu);
  const sparsity::Pattern hardware = sparsity::hardware_pattern(type);
  const sparsity::WeightPattern asked = weight_pattern(options.pattern, type);
  return execution.instruction == hardware && asked.vector_rows == 0 && asked.pattern.kept == hardware.kept &&
         asked.pattern.group == hardware.group;
}

CheckResult check_own_pattern(const workload::Operation& op, const sparsity::PatternExecution& execution,
                              const gpu::GpuSpec& gpu, const SimulationOptions& options, const DataSource& data,
                              const std::vector<base::Matrix<numerics::Word>>* d) {
  Arithmetic arithmetic(gpu, op.dtype, false);
  arithmetic.rules =
      gpu.step_rules(kernels::usual_instruction({{}, 1, op.dtype, true, execution.instruction}, gpu.kernel_target()));
  return check_pattern(options.check_mode(), op, data, weight_pattern(options.pattern, op.dtype), execution, arithmetic,
                       options.seed, d);
}

CheckResult check_values(const workload::Operation& op, bool sparse, const mma::MmaInstruction& instruction,
                         const gpu::GpuSpec& gpu, const SimulationOptions& options, const DataSource& data) {
  if (!sparse || is_hardware(options, op.dtype, gpu)) {
    return check_timing(options.check_mode(), op, sparse, data, {gpu, op.dtype, sparse}, options.seed);
  }
  return check_own_pattern(op, weights_execution(options.pattern, instruction, gpu), gpu, options, data, nullptr);
}

void require_operand_memory(const workload::Operation& op) {
  constexpr double kFitsInteger = 1e18;
  const auto m = static_cast<double>(op.shape.m);
  const auto n = static_cast<double>(op.shape.n);
  const auto k = static_cast<double>(op.shape.k);
  const double words = static_cast<double>(op.batch) * (2 * (m + n) * k + 2 * m * n);
  const double bytes = words * static_cast<double>(sizeof(numerics::Word));
  io::require_memory(static_cast<std::uint64_t>(std::min(bytes, kFitsInteger)),
                     "the operands of '" + io::printable(op.name) + "'");
}

}  // namespace sptc::run
