// SPDX-License-Identifier: Apache-2.0
//
// Metadata of whole rows that is changed in the same way in each: words in another order or
// twice, or those of another stage.
#include "models/sparsity/metadata.h"
#include "sim/check/kernel/hypotheses/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel::hypotheses {
namespace {

/// Group g of every row has the metadata of group `source(g)`.
Hypothesis moved_groups(std::string text, std::function<std::size_t(std::size_t)> source) {
  return {"metadata-words", std::move(text),
          [source = std::move(source)](KernelOperands& operands, const Selection&) {
            const base::Matrix<std::uint8_t> before = operands.nibbles;
            for (std::size_t row = 0; row < before.rows(); ++row) {
              for (std::size_t group = 0; group < before.cols(); ++group) {
                operands.nibbles(row, group) = before(row, source(group));
              }
            }
          }};
}

class Words {
 public:
  Words(std::size_t k, std::size_t groups) : k_(k), groups_(groups) {}

  std::vector<Hypothesis> list;

  /// Parts of `width` groups that are swapped in pairs, one of a pair twice, or one part too early
  /// or too late.
  void add_of_all(std::size_t width) {
    if (groups_ % (2 * width) != 0) {
      return;
    }
    const std::string bits = fmt::format("{} bits", 4 * width);
    const std::size_t groups = groups_;
    list.push_back(moved_groups("the metadata of its rows is swapped in pairs of " + bits,
                                [=](std::size_t group) { return group ^ width; }));
    list.push_back(moved_groups("the metadata of its rows is " + bits + " too far on",
                                [=](std::size_t group) { return (group + width) % groups; }));
    list.push_back(
        moved_groups("the metadata of its rows is " + bits + " late",
                     [=](std::size_t group) { return group < width ? group : group - width; }));
    // A selector that stays in the lanes of one of two instructions.
    list.push_back(
        moved_groups("the metadata of its rows has the first of each pair of " + bits + " twice",
                     [=](std::size_t group) { return group & ~width; }));
    list.push_back(
        moved_groups("the metadata of its rows has the second of each pair of " + bits + " twice",
                     [=](std::size_t group) { return group | width; }));
  }

  /// Two neighbouring parts at one place.
  void add_exchanged(std::size_t width) {
    for (std::size_t part = 0; part + 1 < groups_ / width; ++part) {
      list.push_back(
          moved_groups(fmt::format("the metadata of {} and {} is exchanged", k_of(part, width),
                                   k_of(part + 1, width)),
                       [=](std::size_t group) {
                         const std::size_t in = group / width;
                         return in == part ? group + width : in == part + 1 ? group - width : group;
                       }));
    }
  }

  /// One part with the metadata of another near it: a stage of the pipeline that is stale.
  void add_stale(std::size_t width) {
    constexpr std::size_t kMostParts = 64, kFarthest = 8;
    const std::size_t count = groups_ / width;
    for (std::size_t part = 0; count <= kMostParts && part < count; ++part) {
      const std::size_t first = part < kFarthest ? 0 : part - kFarthest;
      for (std::size_t other = first; other <= std::min(count - 1, part + kFarthest); ++other) {
        if (other != part) {
          list.push_back(moved_groups(fmt::format("in place of the metadata of {} that of {}",
                                                  k_of(part, width), k_of(other, width)),
                                      [=](std::size_t group) {
                                        return group / width == part ? other * width + group % width
                                                                     : group;
                                      }));
        }
      }
    }
  }

 private:
  std::string k_of(std::size_t part, std::size_t width) const {
    const std::size_t k = k_ / groups_ * width;
    return fmt::format("k {} to {}", part * k, (part + 1) * k - 1);
  }

  std::size_t k_, groups_;
};

}  // namespace

Proposals metadata_words(const Trial& at) {
  const mma::MmaInstruction& instruction = at.kernel().model.instruction;
  if (!instruction.sparse) {
    return {};
  }
  const auto element =
      static_cast<std::size_t>(sparsity::metadata_element_bits(instruction.a_type) / 4);
  Words words(at.kernel().data.k, at.kernel().operands.nibbles.cols());
  for (const std::size_t width : {1U, 2U, 4U, 8U, 16U}) {
    words.add_of_all(width);
  }
  for (const std::size_t width : {element, 2 * element, std::size_t{1}}) {
    words.add_exchanged(width);
  }
  for (const std::size_t width : {4 * element, 2 * element, element}) {
    words.add_stale(width);
  }
  return {std::move(words.list)};
}

}  // namespace sptc::check::kernel::hypotheses
