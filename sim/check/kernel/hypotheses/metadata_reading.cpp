// SPDX-License-Identifier: Apache-2.0
//
// Metadata in another layout, of another selector, or with its fields swapped.
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

using vectors::MetadataLayout;

Proposals metadata_reading(const Trial& at) {
  static constexpr std::array kScrambles{
      std::pair{Scramble::kSwappedIndices, "the two indices of every metadata nibble are swapped"},
      std::pair{Scramble::kSwappedNibbles, "the nibbles of every metadata byte are swapped"},
      std::pair{Scramble::kSwappedBytes, "the bytes of every metadata half-word are swapped"},
      std::pair{Scramble::kSwappedHalves, "the halves of every metadata word are swapped"},
      std::pair{Scramble::kSwappedWords, "the words of metadata are swapped in pairs"},
      std::pair{Scramble::kIgnored, "metadata is ignored: the first elements of every group are taken"}};
  static constexpr std::array kLayouts{std::pair{MetadataLayout::kCanonical, "canonical (row-major)"},
                                       std::pair{MetadataLayout::kReordered, "CUTLASS reordered"},
                                       std::pair{MetadataLayout::kMarlin, "Sparse-Marlin reordered"},
                                       std::pair{MetadataLayout::kSm90, "cutlass-sm90"},
                                       std::pair{MetadataLayout::kSm90K64, "cutlass-sm90-k64"},
                                       std::pair{MetadataLayout::kLanes, "mma.sp register words"}};
  const KernelModel& from = at.model();
  Proposals proposals;
  if (!at.data().is_compressed() || !from.instruction.sparse) {
    return proposals;
  }
  for (const auto& [scramble, text] : kScrambles) {
    proposals.add_model("metadata-indices", text, from,
                        [other = scramble](KernelModel& model) { model.reading.scramble = other; });
  }
  for (const auto& [layout, text] : kLayouts) {
    const bool by_lanes = layout == MetadataLayout::kLanes, is_own = layout == from.reading.layout;
    for (int selector = 0; selector < (by_lanes ? 4 : 1); ++selector) {
      if (at.data().metadata->layout == MetadataLayout::kIndices) {
        continue;  // they are in no register
      }
      const std::string said =
          is_own ? fmt::format("the sparsity selector is {} instead of {}", selector, from.reading.selector)
                 : fmt::format("metadata is read in the layout {}{}", text,
                               by_lanes ? fmt::format(", selector {}", selector) : "");
      proposals.add_model(is_own ? "metadata-selector" : "metadata-layout", said, from,
                          [&, other = layout](KernelModel& model) {
                            model.reading.layout = other;
                            model.reading.selector = selector;
                          });
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
