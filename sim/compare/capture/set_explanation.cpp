// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/capture/set_explanation.h"

#include "models/base/error.h"
#include "models/sparsity/compress.h"
#include "models/sparsity/metadata_register.h"
#include "sim/compare/kernel/kernel_alternatives.h"
#include "sim/compare/kernel/local_fault.h"
#include "sim/compare/vectors/mma_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

namespace sptc::compare::capture {
namespace {

using mma::MmaInstruction;
using numerics::DataType;
using numerics::Word;

constexpr std::size_t kMaxLocal = 16;     // cases that are looked at one by one
constexpr std::size_t kMaxExamined = 64;  // cases, wrong ones first, that an alternative must meet
constexpr std::size_t kMaxSentences = 8;
constexpr std::size_t kRegisterRows = 16;  // of A that one metadata register describes

kernel::StoredMatrix case_of(const vectors::BitArray& array, std::size_t index) {
  kernel::StoredMatrix result{array.shape[1], array.shape[2], false, {}};
  const std::size_t count = result.rows * result.cols;
  result.words.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    result.words.push_back(static_cast<Word>(array.bits[index * count + i]));
  }
  return result;
}

/// One execution of the instruction as a kernel.
kernel::KernelData kernel_of(const vectors::VectorSet& set, const vectors::VectorOutput& output,
                             std::size_t index) {
  kernel::KernelData data;
  data.a = case_of(set.operands.a, index);
  data.b = case_of(set.operands.b, index);
  data.c = case_of(output.c, index);
  data.d = case_of(output.expected, index);
  data.m = data.a.rows;
  data.n = data.b.cols;
  data.k = data.b.rows;
  data.c_type = output.instruction.c_type();
  data.d_type = output.instruction.accumulator;
  if (set.operands.indices) {
    const kernel::StoredMatrix indices = case_of(*set.operands.indices, index);
    data.metadata = vectors::MetadataInput{vectors::make_bit_array({1, indices.words.size()}, 4),
                                           vectors::MetadataLayout::kIndices, 0};
    std::copy(indices.words.begin(), indices.words.end(), data.metadata->array.bits.begin());
  }
  return data;
}

class SetSearch {
 public:
  SetSearch(const vectors::VectorSet& set, const vectors::VectorOutput& output,
            const mma::StepRules& rules)
      : set_(set), output_(output) {
    model_.instruction = output.instruction;
    model_.rules = rules;
    model_.reading.layout = vectors::MetadataLayout::kIndices;
    find_wrong(rules);
  }

  std::vector<kernel::Explanation> run() {
    // Alternatives select whole words of tf32, not the halves that nibbles can mix.
    if (wrong_.empty() || !set_.operands.nibbles.empty()) {
      return {};
    }
    const std::vector<kernel::Explanation> local = local_faults();
    std::vector<kernel::Explanation> fitting;
    for (const kernel::Alternative& alternative :
         kernel::alternatives(kernel_of(set_, output_, wrong_.front()), model_, output_.target)) {
      if (reproduces(alternative.model, examined_)) {
        fitting.push_back({alternative.cause, alternative.text, 0});
      }
    }
    // What one place explains is likelier than a change that happens to show nowhere else, unless
    // it is as small as a rounding.
    fitting.insert(could_be_rounding_ ? fitting.end() : fitting.begin(), local.begin(),
                   local.end());
    fitting.resize(std::min(fitting.size(), kMaxSentences));
    return fitting;
  }

 private:
  void find_wrong(const mma::StepRules& rules) {
    vectors::MmaOperands operands = set_.operands;
    operands.c = output_.c;
    const vectors::BitArray d = vectors::execute(operands, output_.instruction, rules);
    const std::size_t per_case = operands.rows() * operands.columns();
    std::set<std::size_t> wrong;
    for (std::size_t i = 0; i < d.bits.size(); ++i) {
      if (d.bits[i] != output_.expected.bits[i]) {
        wrong.insert(i / per_case);
      }
    }
    wrong_.assign(wrong.begin(), wrong.end());
    examined_ = {wrong_.begin(), wrong_.begin() + static_cast<std::ptrdiff_t>(
                                                      std::min(wrong_.size(), kMaxExamined / 2))};
    for (std::size_t i = 0; i < operands.cases() && examined_.size() < kMaxExamined; ++i) {
      if (!wrong.contains(i)) {
        examined_.push_back(i);
      }
    }
  }

  bool reproduces(const kernel::KernelModel& model, const std::vector<std::size_t>& cases) const {
    return std::ranges::all_of(cases, [&](std::size_t index) {
      const kernel::KernelData data = kernel_of(set_, output_, index);
      try {
        const kernel::KernelOperands operands =
            kernel::arrange(data, model, kernel::Selection::all(data));
        return kernel::execute(data, model, operands) == operands.d;
      } catch (const base::InputError&) {
        return false;
      }
    });
  }

  /// One for every wrong case, or nothing.
  std::vector<kernel::Explanation> local_faults() {
    if (wrong_.size() > kMaxLocal) {
      return {};
    }
    std::vector<kernel::Explanation> result;
    could_be_rounding_ = false;
    for (const std::size_t index : wrong_) {
      const kernel::KernelData data = kernel_of(set_, output_, index);
      std::optional<kernel::LocalFault> fault;
      try {
        const kernel::KernelOperands operands =
            kernel::arrange(data, model_, kernel::Selection::all(data));
        fault = kernel::find_local_fault(data, model_, operands,
                                         kernel::execute(data, model_, operands));
      } catch (const base::InputError&) {
        return {};
      }
      if (!fault) {
        return {};
      }
      could_be_rounding_ = could_be_rounding_ || fault->could_be_rounding;
      result.push_back(
          {std::string(fault->cause), fmt::format("case {}: {}", index, fault->text), 0});
    }
    return result;
  }

  const vectors::VectorSet& set_;
  const vectors::VectorOutput& output_;
  kernel::KernelModel model_;
  std::vector<std::size_t> wrong_;
  std::vector<std::size_t> examined_;
  bool could_be_rounding_ = false;
};

/// "lane 5, bits 11:8" of the first nibble of `registers` that does not say what `indices` do.
std::optional<std::string> first_disagreement(const sparsity::MetadataRegisterFormat& format,
                                              int selector, const sparsity::LaneWords& registers,
                                              const vectors::BitArray& indices, std::size_t index) {
  const base::Matrix<std::uint8_t> nibbles = sparsity::read_metadata(format, selector, registers);
  const std::size_t rows = std::min(indices.shape[1], kRegisterRows);
  const auto kept = static_cast<std::size_t>(format.pattern.kept);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t t = 0; t < indices.shape[2]; ++t) {
      const std::size_t group = t / kept;
      const auto position = static_cast<std::uint64_t>(sparsity::selected_position(
          nibbles(row, group), static_cast<int>(t % kept), format.pattern));
      const std::uint64_t k = group * static_cast<std::size_t>(format.pattern.group) + position;
      if (k != indices.at(index, row, t)) {
        const sparsity::MetadataSlot slot = sparsity::metadata_slot(
            format, selector, {static_cast<int>(row), static_cast<int>(group)});
        return fmt::format(
            "case {}: the metadata register of lane {}, bits {}:{}, is {:#x} (row {}, group {}: "
            "element {} meets k {}), but idx says k {}",
            index, slot.lane, 4 * slot.nibble + 3, 4 * slot.nibble, nibbles(row, group), row, group,
            t, k, indices.at(index, row, t));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<kernel::Explanation> explain_set(const vectors::VectorSet& set,
                                             const vectors::VectorOutput& output,
                                             const mma::StepRules& rules) {
  const DataType a = output.instruction.a_type;
  if (a == DataType::kF64 || a == DataType::kB1 || output.instruction.block_scaled) {
    return {};
  }
  return SetSearch(set, output, rules).run();
}

std::vector<std::string> inconsistent_metadata(const std::filesystem::path& json_file,
                                               const vectors::VectorSet& set) {
  std::vector<std::string> sentences;
  const std::filesystem::path stem = json_file.parent_path() / json_file.stem();
  const std::filesystem::path e_file = stem.string() + ".E.npy";
  std::error_code error;
  if (!set.operands.indices || set.outputs.empty() || !std::filesystem::exists(e_file, error)) {
    return sentences;
  }
  const MmaInstruction& instruction = set.outputs.front().instruction;
  const vectors::BitArray e = vectors::read_bit_array(e_file);
  const vectors::BitArray selectors = vectors::read_bit_array(stem.string() + ".sel.npy");
  sparsity::LaneWords registers{};
  if (e.shape.size() != 2 || e.shape[1] != registers.size() || e.shape[0] != set.cases() ||
      selectors.bits.size() != set.cases() || instruction.family != mma::MmaFamily::kMma) {
    return sentences;  // warpgroup instructions have a layout of their own
  }
  const auto format = sparsity::metadata_register_format(instruction.a_type, instruction.shape.k);
  for (std::size_t index = 0; index < set.cases() && sentences.size() < kMaxSentences; ++index) {
    for (std::size_t lane = 0; lane < registers.size(); ++lane) {
      registers[lane] = static_cast<std::uint32_t>(e.bits[index * registers.size() + lane]);
    }
    if (selectors.bits[index] >= static_cast<std::uint64_t>(format.selectors())) {
      sentences.push_back(fmt::format("case {}: {} has no selector {}", index,
                                      instruction.ptx_name(), selectors.bits[index]));
      continue;
    }
    if (auto sentence = first_disagreement(format, static_cast<int>(selectors.bits[index]),
                                           registers, *set.operands.indices, index)) {
      sentences.push_back(std::move(*sentence));
    }
  }
  return sentences;
}

}  // namespace sptc::compare::capture
