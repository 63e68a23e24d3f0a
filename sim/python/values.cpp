// SPDX-License-Identifier: Apache-2.0
#include "models/batched/gemm.h"
#include "models/numerics/codec.h"
#include "sim/check/kernel/kernel_crosscheck.h"
#include "sim/check/vectors/identify.h"
#include "sim/check/vectors/metadata_input.h"
#include "sim/check/vectors/mma_batch.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/python/arrays.h"
#include "sim/python/bindings.h"
#include "sim/python/callbacks.h"
#include "sim/python/instruction_choice.h"
#include "sim/report/crosscheck_page.h"
#include "sim/run/check.h"

#include <algorithm>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace nb = nanobind;

namespace sptc::python {
namespace {

using numerics::DataType;
using numerics::Word;

/// 0: all processors of the host.
int thread_count(int threads) {
  return threads == 0 ? static_cast<int>(std::max(1U, std::thread::hardware_concurrency())) : threads;
}

// mma ---------------------------------------------------------------------------------------------

/// The arrays of one call: A, B, C, metadata, scales of A and of B.
struct Arrays {
  check::vectors::MmaOperands operands;
  std::optional<check::vectors::MetadataInput> metadata;
};

Arrays arrays_of(const Bits& a, const Bits& b, const std::optional<Bits>& c, const std::optional<Bits>& metadata,
                 const std::string& layout, int selector) {
  Arrays arrays;
  arrays.operands.a = bit_array_of(a);
  arrays.operands.b = bit_array_of(b);
  if (c) {
    arrays.operands.c = bit_array_of(*c);
  }
  if (metadata) {
    arrays.metadata =
        check::vectors::MetadataInput{bit_array_of(*metadata), check::vectors::parse_metadata_layout(layout), selector};
  }
  return arrays;
}

void mma(const std::string& arch, const std::string& instruction, const std::string& grouping,
         const std::string& profile, const Bits& a, const Bits& b, const std::optional<Bits>& c,
         const std::optional<Bits>& metadata, const std::string& layout, int selector,
         const std::optional<Bits>& a_scales, const std::optional<Bits>& b_scales, const Output& out) {
  const ChosenInstruction& chosen = chosen_instruction({arch, instruction, grouping, profile});
  Arrays arrays = arrays_of(a, b, c, metadata, layout, selector);
  check::vectors::MmaOperands& operands = arrays.operands;
  if (a_scales) {
    operands.a_scales = bit_array_of(*a_scales);
  }
  if (b_scales) {
    operands.b_scales = bit_array_of(*b_scales);
  }
  const nb::gil_scoped_release unlocked;
  if (!c) {
    operands.c = check::vectors::make_bit_array({operands.cases(), operands.rows(), operands.columns()},
                                                check::vectors::element_bytes(chosen.instruction.c_type()));
  }
  if (arrays.metadata) {
    operands.indices = check::vectors::element_indices(*arrays.metadata, chosen.instruction, operands.a.shape, "A");
  }
  check::vectors::require_operands(operands, chosen.instruction, "mma");
  const check::vectors::BitArray d = check::vectors::execute(operands, chosen.instruction, chosen.rules);
  write_words(std::span(d.bits), out);
}

std::string identify(const Bits& a, const Bits& b, const std::optional<Bits>& c, const Bits& d,
                     const std::optional<Bits>& metadata, const std::string& layout, int selector,
                     const std::string& profile) {
  const Arrays arrays = arrays_of(a, b, c, metadata, layout, selector);
  const check::vectors::BitArray expected = bit_array_of(d);
  const nb::gil_scoped_release unlocked;
  return check::vectors::identify_json(
      check::vectors::identify(arrays.operands, arrays.metadata, expected, mma::parse_profile(profile)));
}

// matmul ------------------------------------------------------------------------------------------

void convert(base::Matrix<Word>& words, DataType from, DataType to) {
  if (from == to) {
    return;
  }
  for (std::size_t row = 0; row < words.rows(); ++row) {
    for (Word& word : words.row(row)) {
      word = numerics::from_double(numerics::to_double(word, from), to);
    }
  }
}

template <typename T>
base::Matrix<T> some_rows(const base::Matrix<T>& matrix, std::size_t first, std::size_t count) {
  base::Matrix<T> result(count, matrix.cols());
  std::copy_n(matrix.row(first).data(), result.size(), result.data());
  return result;
}

/// batched::gemm() in pieces of rows of D, so that Ctrl-C is seen between them.
void gemm(const run::Arithmetic& arithmetic, const batched::GemmOperands& whole, const batched::EngineOptions& options,
          base::MatrixView<Word> d) {
  constexpr std::size_t kMultiplications = std::size_t{1} << 33;  // about a second
  constexpr std::size_t kLeastRows = 256;                         // B is prepared for each piece
  const std::size_t columns = whole.b_columns.rows() * whole.b_columns.cols();
  const std::size_t height = std::max(kLeastRows, kMultiplications / columns);
  if (height >= d.rows()) {
    return batched::gemm(arithmetic.instruction, arithmetic.rules, whole, options, d);
  }
  for (std::size_t first = 0; first < d.rows(); first += height) {
    const std::size_t last = std::min(first + height, d.rows());
    batched::GemmOperands piece = whole;
    sparsity::CompressedMatrix compressed;
    if (whole.a) {
      piece.a = whole.a.rows_between(first, last);
    } else {
      const sparsity::CompressedMatrix& all = *whole.compressed_a;
      compressed = {all.type, all.pattern, all.logical_k, some_rows(all.values, first, last - first),
                    some_rows(all.nibbles, first, last - first)};
      piece.compressed_a = &compressed;
    }
    if (whole.c) {
      piece.c = whole.c.rows_between(first, last);
    }
    batched::gemm(arithmetic.instruction, arithmetic.rules, piece, options,
                  {d.row(first).data(), last - first, d.cols()});
    raise_signals();
  }
}

void matmul(const config::Architecture& architecture, const std::string& type_name, bool sparse, const Bits& a,
            const Bits& b, const std::optional<Bits>& c, const std::string& d_type, int split_k, int threads,
            const Output& out) {
  const DataType type = data_type(type_name);
  const DataType result_type = data_type(d_type);
  const batched::EngineOptions options{thread_count(threads), split_k};
  const nb::gil_scoped_release unlocked;
  if (type == DataType::kF64) {
    if (sparse || split_k != 1) {
      io::refuse("matmul: f64 has neither sparse instructions nor split_k here");
    }
    const std::optional<base::Matrix<std::uint64_t>> addend = c ? std::optional(wide_words_of(*c, "C")) : std::nullopt;
    const base::Matrix<std::uint64_t> d = batched::gemm_f64(wide_words_of(a, "A"), wide_words_of(b, "B", true),
                                                            addend ? &*addend : nullptr, options.threads);
    return write_words(d, out);
  }
  const run::Arithmetic arithmetic(architecture.gpu, type, sparse);
  const OperandArray dense_a = rows_of(a, "A", options.threads);
  const OperandArray b_columns = columns_of(b, "B", options.threads);
  const OperandArray addend = c ? rows_of(*c, "C", options.threads) : OperandArray();
  batched::GemmOperands operands;
  sparsity::CompressedMatrix compressed;
  if (sparse) {
    architecture.gpu.require_selector(sparsity::hardware_pattern(type), "2:4 " + type_name);
    compressed = sparsity::compress(dense_a.view, type);
    operands.compressed_a = &compressed;
  } else {
    operands.a = dense_a.view;
  }
  operands.b_columns = b_columns.view;
  operands.c = addend.view;
  const std::size_t rows = dense_a.view.rows();
  const std::size_t columns = b_columns.view.rows();
  if (result_type == arithmetic.instruction.accumulator && out.itemsize() == sizeof(Word)) {
    return gemm(arithmetic, operands, options, {static_cast<Word*>(out.data()), rows, columns});
  }
  base::Matrix<Word> d(rows, columns);
  gemm(arithmetic, operands, options, d);
  convert(d, arithmetic.instruction.accumulator, result_type);
  write_words(d, out);
}

// crosscheck --------------------------------------------------------------------------------------

/// The report on a kernel; its page goes to the file `html`, where that is not empty.
std::string report_of(const check::kernel::KernelCase& kernel, int threads, const std::string& html) {
  const check::kernel::KernelDiagnosis diagnosis = check::kernel::crosscheck_kernel(
      kernel.data, kernel.declared, kernel.target, thread_count(threads), kernel.tolerance);
  if (!html.empty()) {
    io::write_file(html, report::crosscheck_page(kernel, diagnosis, ""));
  }
  return check::kernel::kernel_json(kernel, diagnosis);
}

/// What `words` say, by the names of crosscheck() in Python; what is left out is as the kernel has it.
check::kernel::KernelChoice kernel_choice(OptionTexts words, std::optional<int> entry = {}) {
  return {.launch = words["launch"],
          .d = words["d"],
          .entry = entry,
          .arch = words["arch"],
          .instruction = words["instruction"],
          .k_order = words["k_order"],
          .tolerance = words["tolerance"]};
}

std::string crosscheck(const std::string& kernel, const std::string& directory, const OptionTexts& words, int threads,
                       const std::string& html) {
  return in_worker([&] {
    return report_of(check::kernel::parse_kernel_file(kernel, "kernel", directory, kernel_choice(words)), threads,
                     html);
  });
}

std::string crosscheck_file(const std::string& file, const OptionTexts& words, const std::optional<int>& entry,
                            int threads, const std::string& html) {
  return in_worker(
      [&] { return report_of(check::kernel::read_kernel_file(file, kernel_choice(words, entry)), threads, html); });
}

}  // namespace

void bind_values(nb::module_& module) {
  module.def("mma", mma, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
             nb::arg().none(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
  module.def("identify", identify, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(),
             nb::arg(), nb::arg());
  module.def("matmul", matmul, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
             nb::arg(), nb::arg(), nb::arg());
  module.def("crosscheck", crosscheck);
  module.def("crosscheck_file", crosscheck_file, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
}

}  // namespace sptc::python
