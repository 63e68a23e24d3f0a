// SPDX-License-Identifier: Apache-2.0
//
// Metadata of whole rows that is changed in the same way in each: words in another order or twice, or those of another
// stage than the values.
#include "models/sparsity/metadata.h"
#include "sim/check/kernel/hypotheses/families.h"

namespace sptc::check::kernel::hypotheses {

Proposals metadata_words(const Trial& at) {
  struct Change {
    const char* text;  ///< "{}": how many bits
    std::size_t (*source)(std::size_t group, std::size_t width, std::size_t groups);
  };
  static constexpr auto kChanges = std::to_array<Change>({
      {"is swapped in pairs of {} bits", [](auto group, auto width, auto) { return group ^ width; }},
      {"is {} bits too far on", [](auto group, auto width, auto groups) { return (group + width) % groups; }},
      {"is {} bits late", [](auto group, auto width, auto) { return group < width ? group : group - width; }},
      {"is {} bits late, around the end",
       [](auto group, auto width, auto groups) { return (group + groups - width) % groups; }},
      {"is {} bits too far on, the last of them twice",
       [](auto group, auto width, auto groups) { return group + width < groups ? group + width : group; }},
      // A selector that stays in the lanes of one of two instructions.
      {"has the first of each pair of {} bits twice", [](auto group, auto width, auto) { return group & ~width; }},
      {"has the second of each pair of {} bits twice", [](auto group, auto width, auto) { return group | width; }},
  });
  constexpr std::size_t kMostParts = 64, kFarthest = 8;
  const WrongKernel& kernel = at.kernel();
  const std::size_t groups = kernel.operands.nibbles.cols();
  Proposals proposals;
  if (!kernel.model.instruction.sparse) {
    return proposals;
  }
  // Group g of every row has the metadata of group `source(g)`.
  const auto add = [&](std::string text, const auto& source) {
    proposals.list.push_back(
        moved(kernel, {.metadata = true}, "metadata-words", std::move(text),
              [source](std::size_t row, std::size_t group) { return std::pair(row, source(group)); }));
  };
  const auto k_of = [&](std::size_t part, std::size_t width) {
    const std::size_t k = kernel.data.k / groups * width;
    return fmt::format("k {} to {}", part * k, (part + 1) * k - 1);
  };
  for (const std::size_t width : {1U, 2U, 4U, 8U, 16U, 32U}) {
    for (const Change& change : kChanges) {
      if (groups % (2 * width) == 0) {
        add("the metadata of its rows " + fmt::format(fmt::runtime(change.text), 4 * width),
            [=](std::size_t group) { return change.source(group, width, groups); });
      }
    }
  }
  for (const auto nibble : std::to_array<std::uint8_t>({0x0, 0x4, 0xE})) {
    proposals.list.push_back({"metadata-words", fmt::format("the metadata is {:#x} in every group", nibble),
                              [nibble](KernelOperands& operands, const Selection&) {
                                std::fill_n(operands.nibbles.data(), operands.nibbles.size(), nibble);
                              }});
  }
  const auto element = static_cast<std::size_t>(sparsity::metadata_element_bits(kernel.model.instruction.a_type) / 4);
  // Two neighbouring parts at one place.
  for (const std::size_t width : {element, 2 * element, std::size_t{1}}) {
    for (std::size_t part = 0; part + 1 < groups / width; ++part) {
      add(fmt::format("the metadata of {} and {} is exchanged", k_of(part, width), k_of(part + 1, width)),
          [=](std::size_t group) {
            return group / width == part ? group + width : group / width == part + 1 ? group - width : group;
          });
    }
  }
  // One part with the metadata of another near it, or with its values: a stage of the pipeline that is stale for one of
  // them, as metadata often goes past shared memory.
  const std::size_t kept = kernel.operands.a.cols() / groups;
  for (const std::size_t width : {4 * element, 2 * element, element}) {
    const std::size_t count = groups / width;
    for (std::size_t part = 0; count <= kMostParts && part < count; ++part) {
      for (std::size_t other = part - std::min(part, kFarthest); other < std::min(count, part + kFarthest + 1);
           ++other) {
        if (other != part) {
          add(fmt::format("in place of the metadata of {} that of {}", k_of(part, width), k_of(other, width)),
              [=](std::size_t group) { return group / width == part ? other * width + group % width : group; });
          proposals.list.push_back(moved(
              kernel, {.values = true}, "duplicated-k-tile",
              fmt::format("in place of the values of A of {} again those of {}", k_of(part, width), k_of(other, width)),
              [=](std::size_t row, std::size_t value) {
                const bool is_stale = value / kept / width == part;
                return std::pair(row, is_stale ? value + other * width * kept - part * width * kept : value);
              }));
        }
      }
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
