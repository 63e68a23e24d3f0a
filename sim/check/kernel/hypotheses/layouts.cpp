// SPDX-License-Identifier: Apache-2.0
//
// Where elements stand in memory: transposed, or with another leading dimension.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

namespace {

/// What a leading dimension of `own` may be taken for: another extent, or padded.
std::set<std::size_t> other_pitches(const KernelData& data, std::size_t own) {
  std::set<std::size_t> pitches{data.m,
                                data.n,
                                data.k,
                                own + 4,
                                own + 8,
                                2 * own,
                                own / 2,
                                own - std::min<std::size_t>(own, 4),
                                own - std::min<std::size_t>(own, 8)};
  for (const std::size_t multiple : {8U, 16U, 32U, 64U, 128U}) {
    pitches.insert({(own + multiple - 1) / multiple * multiple, (own - 1) / multiple * multiple});
  }
  pitches.erase(own);
  pitches.erase(0);
  return pitches;
}

}  // namespace

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
  struct Operand {
    const char* name;
    const StoredMatrix* matrix;
    bool Reading::*column_major;
    std::size_t Reading::*pitch;
  };
  for (const Operand& one : {Operand{"A", &data.a, &Reading::a_column_major, &Reading::a_pitch},
                             Operand{"B", &data.b, &Reading::b_column_major, &Reading::b_pitch},
                             Operand{"C", data.c ? &*data.c : nullptr, &Reading::c_column_major, &Reading::c_pitch}}) {
    if (one.matrix == nullptr) {
      continue;
    }
    const std::size_t own = from.reading.*one.column_major ? one.matrix->rows : one.matrix->cols;
    const bool by_columns = from.reading.*one.column_major, along_k = one.matrix == (by_columns ? &data.a : &data.b);
    const std::vector<std::size_t> lines =
        along_k ? numbers({{0, by_columns ? one.matrix->cols : one.matrix->rows}}) : at.lines(!by_columns);
    for (const std::size_t other : other_pitches(data, own)) {
      const auto is_there = [&](std::size_t line) { return line * other < one.matrix->words.size(); };
      if (2 * std::ranges::count_if(lines, is_there) < std::ssize(lines)) {
        continue;  // zeros from beyond the memory tell nothing
      }
      proposals.add_model(
          "leading-dimension",
          fmt::format("the leading dimension of {} is taken for {} instead of {}", one.name, other, own), from,
          [&](KernelModel& model) { model.reading.*one.pitch = other; });
    }
  }
  return proposals;
}

// D stored with another leading dimension: ends of lines are overwritten by the next line, or nobody writes what is
// between two lines, where one word stands.
Proposals leading_dimension_of_d(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  const bool by_columns = kernel.model.reading.d_column_major;
  const std::size_t lines = by_columns ? at.data().n : at.data().m, own = by_columns ? at.data().m : at.data().n;
  Proposals proposals;
  if (lines < 2 || 2 * at.lines(!by_columns).size() < lines) {  // all but the first are elsewhere
    return proposals;
  }
  const auto element = [by_columns](const base::Matrix<numerics::Word>& d, std::size_t line, std::size_t place) {
    return by_columns ? d(place, line) : d(line, place);
  };
  const numerics::Word last = element(kernel.observed(), lines - 1, own - 1);
  for (const std::size_t pitch : other_pitches(at.data(), own)) {
    const numerics::Word between = pitch > own ? element(kernel.observed(), 1, 0) : last;
    Hypothesis stored{"leading-dimension",
                      fmt::format("the leading dimension of D is taken for {} instead of {}", pitch, own)};
    stored.word = [&kernel, element, by_columns, lines, own, pitch, between](std::size_t row, std::size_t column) {
      const std::size_t index = by_columns ? column * own + row : row * own + column;
      const numerics::Word found = kernel.observed()(row, column);
      std::optional<numerics::Word> word;  // of the last line that writes there, or another one that was later
      for (std::size_t line = std::min(lines - 1, index / pitch) + 1; line-- > 0 && index - line * pitch < own;) {
        const numerics::Word one = element(kernel.computed, line, index - line * pitch);
        word = !word || one == found ? one : *word;
      }
      return word.value_or(between);
    };
    proposals.list.push_back(std::move(stored));
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
