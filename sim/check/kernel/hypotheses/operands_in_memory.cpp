// SPDX-License-Identifier: Apache-2.0
//
// How memory is taken for operands: transposed, with another leading dimension, from another element on, of another
// type, pruned by another rule.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

using enum numerics::DataType;
using numerics::DataType;

// Operands or D taken for their transpose, or with a leading dimension that is another extent or padded.
Proposals operand_layouts(const Trial& at) {
  const KernelModel& from = at.model();
  const KernelData& data = at.data();
  Proposals proposals;
  const auto flip = [&](const char* text, bool Reading::*column_major) {
    const char* const taken_as = from.reading.*column_major ? "row" : "column";
    proposals.add_model("operand-layout", fmt::format(fmt::runtime(text), taken_as), from,
                        [&](KernelModel& model) { model.reading.*column_major = !(from.reading.*column_major); });
  };
  flip("A is taken as {}-major (transposed operand)", &Reading::a_column_major);
  flip("B is taken as {}-major (transposed operand)", &Reading::b_column_major);
  if (data.c) {
    flip("C is taken as {}-major (transposed operand)", &Reading::c_column_major);
  }
  flip("D is stored transposed (M and N exchanged)", &Reading::d_column_major);
  for (const bool of_a : {true, false}) {
    const StoredMatrix& matrix = of_a ? data.a : data.b;
    const bool column_major = of_a ? from.reading.a_column_major : from.reading.b_column_major;
    const std::size_t own = column_major ? matrix.rows : matrix.cols;
    std::set<std::size_t> pitches{data.m, data.n, data.k, own + 8, 2 * own, std::max<std::size_t>(1, own / 2)};
    for (const std::size_t multiple : {8U, 16U, 32U, 64U, 128U}) {
      pitches.insert((own + multiple - 1) / multiple * multiple);
    }
    pitches.erase(own);
    for (const std::size_t other : pitches) {
      proposals.add_model(
          "leading-dimension",
          fmt::format("the leading dimension of {} is taken for {} instead of {}", of_a ? "A" : "B", other, own), from,
          [&](KernelModel& model) { (of_a ? model.reading.a_pitch : model.reading.b_pitch) = other; });
    }
  }
  return proposals;
}

// A row-major A, or its values, from a few elements on; metadata stays.
Proposals shifted_a(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  const bool is_sparse = kernel.model.instruction.sparse;
  Proposals proposals;
  // The values of an A that is pruned on the way do not lie in memory.
  if (kernel.model.reading.a_column_major || is_sparse != at.data().is_compressed()) {
    return proposals;
  }
  const std::size_t width = kernel.operands.a.cols();
  for (const std::size_t by : {1U, 2U, 4U, 8U, 16U}) {
    proposals.list.push_back(
        moved(kernel, {.values = true}, "pointer-offset",
              fmt::format("{} {} read {} element{} too far on", is_sparse ? "the values of A" : "A",
                          is_sparse ? "are" : "is", by, by == 1 ? "" : "s"),
              [by, width](std::size_t row, std::size_t value) {
                const std::size_t index = row * width + value + by;
                return std::pair(index / width, index % width);
              }));
  }
  return proposals;
}

// The bits of A, B or both taken for another type of their width.
Proposals operand_types(const Trial& at) {
  static constexpr std::array kPairs{std::pair{kS8, kU8}, std::pair{kS4, kU4}, std::pair{kE4m3, kE5m2},
                                     std::pair{kF16, kBf16}};
  const auto other_of = [](DataType type) {
    const auto* const found =
        std::ranges::find_if(kPairs, [&](const auto& pair) { return type == pair.first || type == pair.second; });
    return found == kPairs.end() ? type : type == found->first ? found->second : found->first;
  };
  const mma::MmaInstruction& own = at.model().instruction;
  const DataType a = other_of(own.a_type), b = other_of(own.b_type);
  Proposals proposals;
  const auto add = [&](DataType a_type, DataType b_type, std::string text) {
    proposals.add_model("operand-type", std::move(text), at.model(), [&](KernelModel& model) {
      mma::MmaInstruction other = own;
      other.a_type = a_type;
      other.b_type = b_type;
      if (const auto rules = mma::find_step_rules(at.kernel().target.architecture, other)) {
        model.instruction = other;
        model.rules = *rules;
      }
    });
  };
  add(a, own.b_type, fmt::format("A is taken for {}", numerics::name(a)));
  add(own.a_type, b, fmt::format("B is taken for {}", numerics::name(b)));
  add(a, b, fmt::format("A is taken for {} and B for {}", numerics::name(a), numerics::name(b)));
  return proposals;
}

// A dense A that is pruned by another rule, or not.
Proposals pruning(const Trial& at) {
  static constexpr std::array kPrunings{
      std::pair{Pruning::kMagnitude, "A is pruned by magnitude"},
      std::pair{Pruning::kZeroSigns,
                "-0.0 is taken for a non-zero: it takes a place of its group, and a later element is lost"},
      std::pair{Pruning::kSmallest, "pruning keeps the smallest elements instead of the largest"},
      std::pair{Pruning::kHalved, "pruning keeps half as many elements of each group"},
      std::pair{Pruning::kAlongM, "A is pruned in groups along M instead of K"},
      std::pair{Pruning::kNone, "A is not pruned: a dense instruction takes all of it"}};
  const KernelModel& from = at.model();
  const DataType type = from.instruction.a_type;
  Proposals proposals;
  if (at.data().is_compressed() || !from.instruction.sparse) {
    return proposals;
  }
  mma::MmaInstruction dense = from.instruction;
  dense.sparse = false;
  dense.shape.k /= 2;
  const auto dense_rules = mma::find_step_rules(at.kernel().target.architecture, dense);
  const auto is_negative_zero = [&](numerics::Word word) { return word != 0 && numerics::to_double(word, type) == 0; };
  const bool has_negative_zero =
      numerics::info(type).is_float() && std::ranges::any_of(at.data().a.words, is_negative_zero);
  for (const auto& [rule, text] : kPrunings) {
    const bool by_sign = rule == Pruning::kZeroSigns, is_dense = rule == Pruning::kAlongM || rule == Pruning::kNone;
    if ((by_sign && !has_negative_zero) || (is_dense && !dense_rules)) {
      continue;
    }
    proposals.add_model(by_sign ? "negative-zero" : "pruning", text, from, [&, other = rule](KernelModel& model) {
      model.reading.pruning = other;
      model.instruction = is_dense ? dense : model.instruction;
      model.rules = is_dense ? *dense_rules : model.rules;
    });
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
