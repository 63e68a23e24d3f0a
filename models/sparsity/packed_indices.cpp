// SPDX-License-Identifier: Apache-2.0
#include "models/sparsity/packed_indices.h"

namespace sptc::sparsity {
namespace {

constexpr int kWordBits = 32;
constexpr int kWarpLanes = 32;

/// Where a bit of the metadata is.
struct Place {
  std::size_t reg, lane;
  int bit;
  explicit Place(int number)
      : reg(static_cast<std::size_t>(number / (kWordBits * kWarpLanes))),
        lane(static_cast<std::size_t>(number / kWordBits % kWarpLanes)),
        bit(number % kWordBits) {}
};

}  // namespace

PackedIndices::PackedIndices(const Pattern& pattern, int rows, int kept_per_row)
    : bits_(pattern.metadata_bits() / pattern.choices()), rows_(rows), kept_per_row_(kept_per_row) {}

void PackedIndices::write(int selector, int row, int slot, std::uint8_t index, std::span<LaneWords> registers) const {
  const int first = first_bit(selector, row, slot);
  const unsigned word = index;
  for (int i = 0; i < bits_; ++i) {
    const Place place(first + i);
    registers[place.reg][place.lane] |= word >> i & 1U ? 1U << place.bit : 0U;
  }
}

std::uint8_t PackedIndices::read(int selector, int row, int slot, const LaneWords* registers) const {
  const int first = first_bit(selector, row, slot);
  unsigned index = 0;
  for (int i = 0; i < bits_; ++i) {
    const Place place(first + i);
    index |= (registers[place.reg][place.lane] >> place.bit & 1U) << i;
  }
  return static_cast<std::uint8_t>(index);
}

}  // namespace sptc::sparsity
