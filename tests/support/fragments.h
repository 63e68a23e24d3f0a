// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/matrix.h"
#include "models/mma/fragment_layout.h"
#include "models/numerics/codec.h"

#include <cstddef>
#include <cstdint>

namespace sptc::mma {

/// The registers [register][32 lanes] of a matrix of storage words.
inline base::Matrix<std::uint32_t> pack_fragment(const FragmentLayout& layout,
                                                 const base::Matrix<numerics::Word>& matrix) {
  base::Matrix<std::uint32_t> registers(static_cast<std::size_t>(layout.registers()), kWarpLanes);
  const std::uint32_t mask = 0xFFFFFFFFU >> (32 - layout.element_bits);
  for (int reg = 0; reg < layout.registers(); ++reg) {
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      std::uint32_t& word = registers(static_cast<std::size_t>(reg), static_cast<std::size_t>(lane));
      for (int i = 0; i < layout.elements_per_register(); ++i) {
        const FragmentCoordinate where = layout.coordinate({lane, reg, i});
        word |= (matrix(static_cast<std::size_t>(where.row), static_cast<std::size_t>(where.col)) & mask)
                << (i * layout.element_bits);
      }
    }
  }
  return registers;
}

}  // namespace sptc::mma
