// SPDX-License-Identifier: Apache-2.0
//
// Metadata in another layout, of another selector, or with its fields swapped.
#include "sim/check/kernel/hypotheses/families.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace sptc::check::kernel::hypotheses {
namespace {

using vectors::MetadataLayout;

constexpr std::array kScrambles{
    std::pair{Scramble::kSwappedIndices, "the two indices of every metadata nibble are swapped"},
    std::pair{Scramble::kSwappedNibbles, "the nibbles of every metadata byte are swapped"},
    std::pair{Scramble::kSwappedBytes, "the bytes of every metadata half-word are swapped"},
    std::pair{Scramble::kSwappedHalves, "the halves of every metadata word are swapped"},
    std::pair{Scramble::kSwappedWords, "the words of metadata are swapped in pairs"},
    std::pair{Scramble::kIgnored,
              "metadata is ignored: the first elements of every group are taken"}};
constexpr std::array kLayouts{std::pair{MetadataLayout::kCanonical, "canonical (row-major)"},
                              std::pair{MetadataLayout::kReordered, "CUTLASS reordered"},
                              std::pair{MetadataLayout::kMarlin, "Sparse-Marlin reordered"},
                              std::pair{MetadataLayout::kSm90, "cutlass-sm90"},
                              std::pair{MetadataLayout::kSm90K64, "cutlass-sm90-k64"},
                              std::pair{MetadataLayout::kLanes, "mma.sp register words"}};

void add_layouts(const KernelModel& from, Proposals& proposals) {
  for (const auto& [layout, text] : kLayouts) {
    const bool by_lanes = layout == MetadataLayout::kLanes;
    for (int selector = 0; selector < (by_lanes ? 4 : 1); ++selector) {
      KernelModel model = from;
      model.reading.layout = layout;
      model.reading.selector = selector;
      if (model.reading == from.reading) {
        continue;
      }
      if (layout == from.reading.layout) {
        proposals.add("metadata-selector",
                      fmt::format("the sparsity selector is {} instead of {}", selector,
                                  from.reading.selector),
                      model);
      } else {
        proposals.add("metadata-layout",
                      fmt::format("metadata is read in the layout {}{}", text,
                                  by_lanes ? fmt::format(", selector {}", selector) : ""),
                      model);
      }
    }
  }
}

}  // namespace

Proposals metadata_reading(const Trial& at) {
  const KernelModel& from = at.model();
  const KernelData& data = at.kernel().data;
  Proposals proposals;
  if (!data.is_compressed() || !from.instruction.sparse) {
    return proposals;
  }
  for (const auto& [scramble, text] : kScrambles) {
    if (scramble != from.reading.scramble) {
      KernelModel model = from;
      model.reading.scramble = scramble;
      proposals.add("metadata-indices", text, model);
    }
  }
  if (data.metadata->layout != MetadataLayout::kIndices) {
    add_layouts(from, proposals);
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
