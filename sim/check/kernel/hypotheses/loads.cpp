// SPDX-License-Identifier: Apache-2.0
//
// Loads at another address: beyond K, where the next row of A meets the next column of B, or from a few elements on.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

// A last k-tile that goes on beyond K.
Proposals overrun_k(const Trial& at) {
  const KernelOperands& own = at.kernel().operands;
  const Reading& reading = at.kernel().model.reading;
  const std::size_t k = at.data().k;
  Proposals proposals;
  // Behind the end of a line lies the next one only where K runs along memory without gaps.
  if (at.kernel().model.instruction.sparse || reading.a_column_major || !reading.b_column_major ||
      reading.a_pitch + reading.b_pitch > 0) {
    return proposals;
  }
  const auto continued = [](const base::Matrix<numerics::Word>& whole, const std::vector<std::size_t>& lines,
                            std::size_t beyond) {
    base::Matrix<numerics::Word> result(lines.size(), whole.cols() + beyond);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (std::size_t at_k = 0; at_k < result.cols(); ++at_k) {
        const std::size_t index = lines[i] * whole.cols() + at_k;
        result(i, at_k) = index < whole.size() ? whole.data()[index] : 0;
      }
    }
    return result;
  };
  std::set<std::size_t> overruns;
  for (const std::size_t tile : {16U, 32U, 64U, 128U, 256U}) {
    overruns.insert((k + tile - 1) / tile * tile - k);
  }
  overruns.erase(0);
  for (const std::size_t beyond : overruns) {
    proposals.list.push_back({"overrun-k",
                              fmt::format("the last k-tile goes on {} k beyond K, into the next row of A and the next "
                                          "column of B",
                                          beyond),
                              [=, &own](KernelOperands& operands, const Selection& selection) {
                                operands.a = continued(own.a, selection.rows, beyond);
                                operands.b_columns = continued(own.b_columns, selection.columns, beyond);
                              }});
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

}  // namespace sptc::check::kernel::hypotheses
