// SPDX-License-Identifier: Apache-2.0
//
// Loads of the last k-tile that go on beyond K: the next row of A meets the next column of B.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

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

}  // namespace sptc::check::kernel::hypotheses
