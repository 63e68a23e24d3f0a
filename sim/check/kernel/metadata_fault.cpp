// SPDX-License-Identifier: Apache-2.0
//
// Metadata of whole rows that is changed in the same way in each.
#include "models/base/error.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata.h"
#include "sim/check/kernel/fault_finders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sptc::check::kernel {
namespace {

/// Group g of every row has the metadata of group `source(g)`.
Hypothesis moved_groups(std::string text, std::function<std::size_t(std::size_t group)> source) {
  return {{"metadata-words", std::move(text)},
          [source = std::move(source)](KernelOperands& operands, const Selection&) {
            const base::Matrix<std::uint8_t> before = operands.nibbles;
            for (std::size_t row = 0; row < before.rows(); ++row) {
              for (std::size_t group = 0; group < before.cols(); ++group) {
                operands.nibbles(row, group) = before(row, source(group));
              }
            }
          }};
}

class WordSearch {
 public:
  explicit WordSearch(const RegionTrial& trial)
      : trial_(trial), groups_(trial.kernel().operands.nibbles.cols()) {}

  std::optional<RegionFault> find() const {
    const auto type = trial_.kernel().model.instruction.a_type;
    const auto element = static_cast<std::size_t>(sparsity::metadata_element_bits(type) / 4);
    auto fault = first_found(std::array<std::size_t, 5>{1, 2, 4, 8, 16},
                             [&](std::size_t width) { return find_of_all(width); });
    fault = fault ? fault
                  : first_found(std::array<std::size_t, 3>{element, 2 * element, 1},
                                [&](std::size_t width) { return find_exchanged(width); });
    return fault ? fault
                 : first_found(std::array{4 * element, 2 * element, element},
                               [&](std::size_t width) { return find_stale(width); });
  }

 private:
  /// Parts of `width` groups that are swapped in pairs, or one part too early or too late.
  std::optional<RegionFault> find_of_all(std::size_t width) const {
    constexpr double kCandidates = 16;
    if (groups_ % (2 * width) != 0) {
      return std::nullopt;
    }
    const std::size_t groups = groups_;
    const std::string bits = fmt::format("{} bits", 4 * width);
    return trial_.first_that_fits(
        {moved_groups("the metadata of its rows is swapped in pairs of " + bits,
                      [=](std::size_t group) { return group ^ width; }),
         moved_groups("the metadata of its rows is " + bits + " too far on",
                      [=](std::size_t group) { return (group + width) % groups; }),
         moved_groups("the metadata of its rows is " + bits + " late",
                      [=](std::size_t group) { return group < width ? group : group - width; })},
        kCandidates);
  }

  /// Two neighbouring parts at one place.
  std::optional<RegionFault> find_exchanged(std::size_t width) const {
    const std::size_t count = groups_ / width;
    std::vector<Hypothesis> hypotheses;
    for (std::size_t part = 0; part + 1 < count; ++part) {
      hypotheses.push_back(
          moved_groups(fmt::format("the metadata of {} and {} is exchanged", k_of(part, width),
                                   k_of(part + 1, width)),
                       [=](std::size_t group) {
                         const std::size_t in = group / width;
                         return in == part ? group + width : in == part + 1 ? group - width : group;
                       }));
    }
    return trial_.first_that_fits(hypotheses, 2 * static_cast<double>(count));
  }

  /// One part with the metadata of another near it: a stage of the pipeline that is stale.
  std::optional<RegionFault> find_stale(std::size_t width) const {
    constexpr std::size_t kMostParts = 64, kFarthest = 8;
    const std::size_t count = groups_ / width;
    std::vector<Hypothesis> hypotheses;
    for (std::size_t part = 0; count <= kMostParts && part < count; ++part) {
      const std::size_t first = part < kFarthest ? 0 : part - kFarthest;
      for (std::size_t other = first; other <= std::min(count - 1, part + kFarthest); ++other) {
        if (other != part) {
          hypotheses.push_back(moved_groups(fmt::format("in place of the metadata of {} that of {}",
                                                        k_of(part, width), k_of(other, width)),
                                            [=](std::size_t group) {
                                              return group / width == part
                                                         ? other * width + group % width
                                                         : group;
                                            }));
        }
      }
    }
    return trial_.first_that_fits(hypotheses, static_cast<double>(2 * kFarthest * count));
  }

  /// Of a part of `width` groups.
  std::string k_of(std::size_t part, std::size_t width) const {
    const std::size_t k = trial_.kernel().data.k / groups_ * width;
    return fmt::format("k {} to {}", part * k, (part + 1) * k - 1);
  }

  const RegionTrial& trial_;
  std::size_t groups_;
};

/// Values of one encoder with the metadata of another: they differ where a group keeps less than it
/// may.
std::optional<RegionFault> find_encoder(const RegionTrial& trial) {
  const WrongKernel& kernel = trial.kernel();
  const auto type = kernel.model.instruction.a_type;
  const sparsity::CompressedMatrix given{type, sparsity::hardware_pattern(type), kernel.data.k,
                                         kernel.operands.a, kernel.operands.nibbles};
  std::vector<Hypothesis> hypotheses;
  for (const auto encoder : {sparsity::PyTorchEncoder::kOld, sparsity::PyTorchEncoder::kNew}) {
    sparsity::CompressedMatrix encoded;
    try {
      encoded = sparsity::encode_as_pytorch(given, encoder);
    } catch (const base::InputError&) {
      continue;  // not of this type, or metadata that means nothing
    }
    for (const bool of_metadata : {true, false}) {
      hypotheses.push_back(
          {{"metadata-encoder",
            fmt::format("the {} in the {} order of PyTorch's encoder, the {} not",
                        of_metadata ? "metadata is" : "values are",
                        encoder == sparsity::PyTorchEncoder::kOld ? "old" : "new",
                        of_metadata ? "values are" : "metadata is")},
           [encoded, of_metadata](KernelOperands& operands, const Selection& selection) {
             for (std::size_t i = 0; i < selection.rows.size(); ++i) {
               if (of_metadata) {
                 std::ranges::copy(encoded.nibbles.row(selection.rows[i]),
                                   operands.nibbles.row(i).begin());
               } else {
                 std::ranges::copy(encoded.values.row(selection.rows[i]),
                                   operands.a.row(i).begin());
               }
             }
           }});
    }
  }
  return trial.first_that_fits(hypotheses, 4);
}

}  // namespace

std::optional<RegionFault> find_metadata_fault(const RegionTrial& trial) {
  if (!trial.kernel().model.instruction.sparse) {
    return std::nullopt;
  }
  const auto fault = find_encoder(trial);
  return fault ? fault : WordSearch(trial).find();
}

}  // namespace sptc::check::kernel
