// SPDX-License-Identifier: Apache-2.0
//
// How memory is taken for operands: transposed, with another leading dimension, of another type.
#include "sim/check/kernel/hypotheses/families.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

namespace sptc::check::kernel::hypotheses {
namespace {

void add_flipped(const KernelModel& from, const char* what, bool Reading::*column_major,
                 Proposals& proposals) {
  KernelModel model = from;
  model.reading.*column_major = !(model.reading.*column_major);
  proposals.add("operand-layout",
                fmt::format("{} is taken as {}-major (transposed operand)", what,
                            model.reading.*column_major ? "column" : "row"),
                model);
}

/// Leading dimensions that are another extent, or padded where the memory is not.
void add_pitches(const KernelData& data, const KernelModel& from, bool of_a, Proposals& proposals) {
  const StoredMatrix& matrix = of_a ? data.a : data.b;
  const bool column_major = of_a ? from.reading.a_column_major : from.reading.b_column_major;
  const std::size_t own = column_major ? matrix.rows : matrix.cols;
  std::set<std::size_t> pitches{data.m, data.n, data.k, own + 8};
  for (const std::size_t multiple : {8U, 16U, 32U, 64U, 128U}) {
    pitches.insert((own + multiple - 1) / multiple * multiple);
  }
  pitches.erase(own);
  for (const std::size_t other : pitches) {
    KernelModel model = from;
    (of_a ? model.reading.a_pitch : model.reading.b_pitch) = other;
    proposals.add("leading-dimension",
                  fmt::format("the leading dimension of {} is taken for {} instead of {}",
                              of_a ? "A" : "B", other, own),
                  model);
  }
}

}  // namespace

// Operands or D taken for their transpose, or with another leading dimension.
Proposals operand_layouts(const Trial& at) {
  const KernelModel& from = at.model();
  const KernelData& data = at.kernel().data;
  Proposals proposals;
  add_flipped(from, "A", &Reading::a_column_major, proposals);
  add_flipped(from, "B", &Reading::b_column_major, proposals);
  if (data.c) {
    add_flipped(from, "C", &Reading::c_column_major, proposals);
  }
  KernelModel model = from;
  model.reading.d_column_major = !model.reading.d_column_major;
  proposals.add("operand-layout", "D is stored transposed (M and N exchanged)", model);
  add_pitches(data, from, true, proposals);
  add_pitches(data, from, false, proposals);
  return proposals;
}

// The bits of A, B or both taken for another type of their width.

namespace {

using enum numerics::DataType;
constexpr std::array kPairs{std::pair{kS8, kU8}, std::pair{kS4, kU4}, std::pair{kE4m3, kE5m2},
                            std::pair{kF16, kBf16}};

numerics::DataType other_of(numerics::DataType type) {
  for (const auto& [one, other] : kPairs) {
    if (type == one || type == other) {
      return type == one ? other : one;
    }
  }
  return type;
}

}  // namespace

Proposals operand_types(const Trial& at) {
  const KernelModel& from = at.model();
  const numerics::DataType own_a = from.instruction.a_type, own_b = from.instruction.b_type;
  const numerics::DataType a = other_of(own_a), b = other_of(own_b);
  Proposals proposals;
  const auto add = [&](numerics::DataType a_type, numerics::DataType b_type, std::string text) {
    KernelModel model = from;
    model.instruction.a_type = a_type;
    model.instruction.b_type = b_type;
    const auto rules = mma::find_step_rules(at.kernel().target.architecture, model.instruction);
    if (rules && (a_type != own_a || b_type != own_b)) {
      model.rules = *rules;
      proposals.add("operand-type", std::move(text), model);
    }
  };
  add(a, own_b, fmt::format("A is taken for {}", numerics::name(a)));
  add(own_a, b, fmt::format("B is taken for {}", numerics::name(b)));
  add(a, b, fmt::format("A is taken for {} and B for {}", numerics::name(a), numerics::name(b)));
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
