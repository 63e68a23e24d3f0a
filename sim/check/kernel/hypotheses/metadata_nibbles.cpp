// SPDX-License-Identifier: Apache-2.0
//
// One nibble of metadata of a row, or two neighbours; metadata of another encoder.
#include "models/sparsity/pattern.h"
#include "sim/check/kernel/hypotheses/families.h"

#include <span>

namespace sptc::check::kernel::hypotheses {

Proposals nibbles_of_row(const Trial& at) {
  constexpr std::uint8_t kNibbles = 16;
  const mma::MmaInstruction& instruction = at.kernel().model.instruction;
  if (!instruction.sparse) {
    return {};
  }
  const std::size_t row = at.lines(true).front();
  const std::span<const std::uint8_t> given = at.kernel().operands.nibbles.row(row);
  // Which nibbles matter is not known: all are tried, and told apart by the whole row.
  Proposals proposals{{}, static_cast<double>(given.size() * kNibbles)};
  if (!at.tells_apart(proposals.among)) {
    return {};
  }
  const auto size = static_cast<std::size_t>(sparsity::hardware_pattern(instruction.a_type).group);
  const auto place = [&](std::size_t group) {
    return fmt::format("row {}, group {} (k {}..{})", row, group, group * size, (group + 1) * size - 1);
  };
  // The row has `nibbles` from `group` on.
  const auto add = [&](std::string text, std::size_t group, std::vector<std::uint8_t> nibbles) {
    Hypothesis changed{"metadata-nibble", std::move(text)};
    changed.change = [group, nibbles = std::move(nibbles)](KernelOperands& operands, const Selection&) {
      std::ranges::copy(nibbles, operands.nibbles.row(0).begin() + static_cast<std::ptrdiff_t>(group));
    };
    changed.names_place = true;
    proposals.list.push_back(std::move(changed));
  };
  for (std::size_t group = 0; group < given.size(); ++group) {
    const auto swapped = static_cast<std::uint8_t>((given[group] >> 2 | given[group] << 2) & 0xF);
    if (swapped != given[group]) {
      add(fmt::format("the two metadata indices of {} are swapped: nibble {:#x} is read as {:#x}", place(group),
                      given[group], swapped),
          group, {swapped});
    }
  }
  for (std::size_t group = 0; group + 1 < given.size(); ++group) {
    if (given[group] != given[group + 1]) {
      add(fmt::format("the metadata nibbles of row {}, groups {} and {} are exchanged ({:#x} and {:#x})", row, group,
                      group + 1, given[group], given[group + 1]),
          group, {given[group + 1], given[group]});
    }
  }
  for (std::size_t group = 0; group < given.size(); ++group) {
    for (std::uint8_t other = 0; other < kNibbles; ++other) {
      if (other != given[group]) {
        add(fmt::format("the metadata nibble of {} is {:#x} instead of {:#x}", place(group), other, given[group]),
            group, {other});
      }
    }
  }
  return proposals;
}

// Values of one encoder of PyTorch with the metadata of another: they differ where a group keeps less than it may.
Proposals metadata_encoders(const Trial& at) {
  const WrongKernel& kernel = at.kernel();
  const auto type = kernel.model.instruction.a_type;
  Proposals proposals;
  if (!kernel.model.instruction.sparse) {
    return proposals;
  }
  for (const auto encoder : {sparsity::PyTorchEncoder::kOld, sparsity::PyTorchEncoder::kNew}) {
    sparsity::CompressedMatrix encoded{type, sparsity::hardware_pattern(type), kernel.data.k, kernel.operands.a,
                                       kernel.operands.nibbles};
    try {
      encoded = sparsity::encode_as_pytorch(encoded, encoder);
    } catch (const base::InputError&) {
      continue;  // not of this type, or metadata that means nothing
    }
    for (const bool of_metadata : {true, false}) {
      Hypothesis other{"metadata-encoder", fmt::format("the {} in the {} order of PyTorch's encoder, the {} not",
                                                       of_metadata ? "metadata is" : "values are",
                                                       encoder == sparsity::PyTorchEncoder::kOld ? "old" : "new",
                                                       of_metadata ? "values are" : "metadata is")};
      other.change = [encoded, of_metadata](KernelOperands& operands, const Selection& selection) {
        for (std::size_t i = 0; i < selection.rows.size(); ++i) {
          if (of_metadata) {
            std::ranges::copy(encoded.nibbles.row(selection.rows[i]), operands.nibbles.row(i).begin());
          } else {
            std::ranges::copy(encoded.values.row(selection.rows[i]), operands.a.row(i).begin());
          }
        }
      };
      proposals.list.push_back(std::move(other));
    }
  }
  return proposals;
}

}  // namespace sptc::check::kernel::hypotheses
