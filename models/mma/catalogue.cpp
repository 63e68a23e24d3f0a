// SPDX-License-Identifier: Apache-2.0
#include "models/mma/catalogue.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/catalogue_rows.h"
#include "models/mma/step_rules.h"
#include "models/numerics/data_type_info.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

namespace sptc::mma {
namespace {

using numerics::DataType;

constexpr std::array kTargets{
    Target{"sm_70", "volta", "V100", 0},
    Target{"sm_75", "turing", "T4, RTX 20", 1},
    Target{"sm_80", "ampere", "A100, A30", 2},
    Target{"sm_86", "ampere", "A2, A10, A40, RTX A6000, RTX 30", 2},
    Target{"sm_87", "ampere", "Orin, Jetson AGX Orin", 2},
    Target{"sm_89", "ada", "Ada, L4, L40, L40S, RTX 40, RTX-1000 Ada, Ada Lovelace", 3},
    Target{"sm_90", "hopper", "H100, H200", 4},
    Target{"sm_100", "blackwell", "B200, B100", 5},
    Target{"sm_120", "rtx-blackwell", "RTX 50, RTX Blackwell", 6},
};

std::vector<std::string_view> names_of(const Target& target) {
  std::vector<std::string_view> names{target.name, target.architecture};
  std::string_view rest = target.gpus;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(", ");
    names.push_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 2);
  }
  return names;
}

/// Operands that an instruction of a row may have.
struct OperandTypes {
  DataType a, b;
  std::optional<BlockScales> scales;
};

std::vector<std::optional<BlockScales>> scales_of(TypePairs types) {
  if (types == TypePairs::kScaled) {
    return {kMxf8f6f4Scales};
  }
  if (types != TypePairs::kScaledFp4) {
    return {std::nullopt};
  }
  std::vector<std::optional<BlockScales>> all{kMxf4Scales};
  all.insert(all.end(), kMxf4nvf4Scales.begin(), kMxf4nvf4Scales.end());
  return all;
}

std::vector<OperandTypes> operand_types(TypePairs types) {
  using enum DataType;
  static const std::map<TypePairs, std::vector<DataType>> kTypes{
      {TypePairs::kF16, {kF16}},
      {TypePairs::kBf16, {kBf16}},
      {TypePairs::kTf32, {kTf32}},
      {TypePairs::kF64, {kF64}},
      {TypePairs::kEightBit, {kS8, kU8}},
      {TypePairs::kFourBit, {kS4, kU4}},
      {TypePairs::kXor, {kB1}},
      {TypePairs::kAnd, {kB1}},
      {TypePairs::kFp8, {kE4m3, kE5m2}},
      {TypePairs::kNarrow, {kE4m3, kE5m2, kE3m2, kE2m3, kE2m1}},
      {TypePairs::kScaled, {kE4m3, kE5m2, kE3m2, kE2m3, kE2m1}},
      {TypePairs::kScaledFp4, {kE2m1}},
  };
  std::vector<OperandTypes> result;
  for (const DataType a : kTypes.at(types)) {
    for (const DataType b : kTypes.at(types)) {
      if (types == TypePairs::kNarrow && numerics::is_fp8(a) && numerics::is_fp8(b)) {
        continue;
      }
      for (const std::optional<BlockScales>& scales : scales_of(types)) {
        result.push_back({a, b, scales});
      }
    }
  }
  return result;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return result;
}

/// "S4" -> "S8": what ptxas widens 4-bit operands to.
std::string eight_bit(DataType type) {
  return numerics::info(type).is_signed ? "S8" : "U8";
}

std::string sass_name(std::string_view pattern, const CatalogueEntry& entry) {
  const MmaInstruction& instruction = entry.instruction;
  if (pattern == "+" || pattern == "software") {
    return "";
  }
  std::string text(pattern);
  const auto replace = [&](std::string_view what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what)) {
      text.replace(at, what.size(), with);
    }
  };
  replace("{A}", upper(numerics::name(instruction.a_type)));
  replace("{B}", upper(numerics::name(instruction.b_type)));
  replace("{A8}", eight_bit(instruction.a_type));
  replace("{B8}", eight_bit(instruction.b_type));
  replace("{N}", entry.max_n == instruction.shape.n ? std::to_string(instruction.shape.n) : "N");
  // The routine that takes two 8-bit instructions for 4-bit operands clamps their sum itself.
  if (instruction.satfinite && !text.ends_with(" x2")) {
    text += ".SAT";
  }
  return text;
}

CatalogueEntry make_entry(const CatalogueRow& row, const OperandTypes& types, bool satfinite, std::string_view sass) {
  CatalogueEntry entry;
  entry.instruction = {.shape = row.shape,
                       .a_type = types.a,
                       .b_type = types.b,
                       .accumulator = row.accumulator,
                       .sparse = row.sparse,
                       .family = row.family,
                       .satfinite = satfinite,
                       .scales = types.scales};
  if (row.addend != row.accumulator) {
    entry.instruction.addend = row.addend;
  }
  if (row.types == TypePairs::kXor || row.types == TypePairs::kAnd) {
    entry.instruction.bit_operation = row.types == TypePairs::kAnd ? BitOperation::kAnd : BitOperation::kXor;
  }
  entry.max_n = row.max_n;
  entry.n_step = row.n_step;
  entry.is_software = sass == "software";
  entry.sass = sass_name(sass, entry);
  return entry;
}

std::optional<CatalogueEntry> lookup(const Target& target, const MmaInstruction& instruction) {
  for (const CatalogueEntry& entry : instructions(target)) {
    if (entry.covers(instruction)) {
      return entry;
    }
  }
  return std::nullopt;
}

/// Sentence for an instruction that `target` has not: the nearest names, and who has it.
std::string missing(const Target& target, const MmaInstruction& instruction) {
  constexpr std::size_t kNear = 3;
  const auto named = [&](bool same_accumulator) {
    std::vector<std::string> names;
    for (const CatalogueEntry& entry : instructions(target)) {
      if (!same_accumulator || entry.instruction.accumulator == instruction.accumulator) {
        names.push_back(entry.instruction.ptx_name());
      }
    }
    return names;
  };
  // Integers are no neighbours of floating point, whatever their letters.
  std::vector<std::string> names = named(true);
  if (names.empty()) {
    names = named(false);
  }
  std::string text = std::string(target.name) + " has no " + instruction.ptx_name() + "; near ones: ";
  for (std::size_t i = 0; i < kNear && !names.empty(); ++i) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string nearest(base::nearest_name(instruction.ptx_name(), views));
    text += (i == 0 ? "" : ", ") + nearest;
    std::erase(names, nearest);
  }
  std::string who;
  for (const Target& other : targets()) {
    if (lookup(other, instruction)) {
      who += (who.empty() ? "" : ", ") + std::string(other.name);
    }
  }
  return text + (who.empty() ? "; no target has it" : "; it exists on " + who);
}

}  // namespace

std::string CatalogueEntry::ptx_name() const {
  std::string text = instruction.ptx_name();
  if (max_n != instruction.shape.n) {
    const std::string n = "n" + std::to_string(instruction.shape.n) + "k";
    text.replace(text.find(n), n.size(), "nNk");
    text += " (N = " + std::to_string(instruction.shape.n) + ", " + std::to_string(instruction.shape.n + n_step) +
            " .. " + std::to_string(max_n) + ")";
  }
  return text;
}

bool CatalogueEntry::covers(const MmaInstruction& wanted) const {
  MmaInstruction same = wanted;  // of this n, in this spelling
  same.shape.n = instruction.shape.n;
  same.ordered_metadata = instruction.ordered_metadata;
  const int beyond = wanted.shape.n - instruction.shape.n;
  return same == instruction && beyond >= 0 && wanted.shape.n <= max_n && beyond % n_step == 0;
}

std::span<const Target> targets() {
  return kTargets;
}

const Target* lookup_target(std::string_view name) {
  std::string wanted = base::plain_name(name);
  if (wanted.starts_with("sm") && wanted.ends_with("a")) {
    wanted.pop_back();  // sm_90a: the features of one architecture only
  }
  for (const Target& target : targets()) {
    for (const std::string_view candidate : names_of(target)) {
      if (base::plain_name(candidate) == wanted) {
        return &target;
      }
    }
  }
  return nullptr;
}

std::vector<std::string_view> target_names() {
  std::vector<std::string_view> names;
  for (const Target& target : targets()) {
    for (const std::string_view candidate : names_of(target)) {
      if (std::find(names.begin(), names.end(), candidate) == names.end()) {
        names.push_back(candidate);
      }
    }
  }
  return names;
}

const Target& find_target(std::string_view name) {
  if (const Target* target = lookup_target(name)) {
    return *target;
  }
  throw base::InputError("unknown architecture " + base::unknown_name(name, target_names()));
}

int Target::compute_capability() const {
  int capability = 0;
  const std::string_view digits = name.substr(name.find('_') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), capability);
  return capability;
}

const Target& target_of_gpu(std::string_view gpu, std::string_view architecture) {
  const Target* found = &find_target(architecture);
  const std::string wanted = base::plain_name(gpu);
  std::size_t longest = 0;
  for (const Target& target : targets()) {
    for (const std::string_view candidate : names_of(target)) {
      const std::string family = base::plain_name(candidate);
      if (target.architecture == architecture && family.size() > longest && wanted.starts_with(family)) {
        longest = family.size();
        found = &target;
      }
    }
  }
  return *found;
}

std::vector<CatalogueEntry> instructions(const Target& target) {
  std::vector<CatalogueEntry> entries;
  for (const CatalogueRow& row : catalogue_rows()) {
    const std::string_view sass = row.sass[target.sass_column];
    if (sass == "-") {
      continue;
    }
    for (const OperandTypes& types : operand_types(row.types)) {
      entries.push_back(make_entry(row, types, false, sass));
      if (row.saturates) {
        entries.push_back(make_entry(row, types, true, sass));
      }
    }
  }
  return entries;
}

CatalogueEntry find_instruction(const Target& target, const MmaInstruction& instruction) {
  if (const auto entry = lookup(target, instruction)) {
    return *entry;
  }
  throw base::InputError(missing(target, instruction));
}

StepRules instruction_rules(const Target& target, const MmaInstruction& instruction, SparseGrouping grouping) {
  if (find_instruction(target, instruction).is_software) {
    throw base::InputError(instruction.ptx_name() + " is a software routine on " + std::string(target.name) +
                           ", whose arithmetic is not modelled");
  }
  return step_rules(target.architecture, instruction, grouping);
}

bool may_need_sorting(const MmaInstruction& instruction) {
  const DataType type = instruction.a_type;
  const bool plain = instruction.sparse && instruction.family == MmaFamily::kMma && !instruction.needs_order();
  return plain && (type == DataType::kF16 || type == DataType::kS8 || type == DataType::kU8);
}

std::string_view speed_warning(const Target& target, const MmaInstruction& instruction) {
  return target.name == "sm_120" && may_need_sorting(instruction)
             ? "plain .sp sorts the indices of each group in software, in 1.5 to 88 times the "
               "cycles of the dense instructions; .sp::ordered_metadata runs at full rate"
             : "";
}

}  // namespace sptc::mma
