// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/bit_capture.h"

#include "models/base/error.h"
#include "models/base/random.h"
#include "models/numerics/data_type_info.h"
#include "sim/check/vectors/bit_array.h"
#include "sim/io/text_file.h"
#include "tests/hardware/capture/operand_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sptc::hardware {
namespace {

using mma::MmaFamily;
using mma::MmaInstruction;
using numerics::DataType;
using Json = nlohmann::ordered_json;

// No f32 or f16 result of these bits occurs: both are NaNs other than the canonical one.
constexpr std::uint32_t kPoison = 0xFFDEADC5;
constexpr std::uint32_t kOtherPoison = 0xFFADDEA3;

bool is_narrow_float(DataType type) {
  return numerics::info(type).is_float() && numerics::storage_bits(type) < 8;
}

/// Registers of the cases of `set` that use `selector`, in order; their numbers into `cases`.
MmaLaunch launch_of(const CaseSet& set, const OperandImage& image, int selector, std::vector<std::size_t>& cases,
                    std::uint64_t seed) {
  const base::RandomStream lanes = base::RandomStream(seed).fork("lanes that do not count");
  MmaLaunch launch;
  launch.ptx = set.instruction.ptx_name();
  launch.selector = selector;
  for (std::size_t index = 0; index < set.cases(); ++index) {
    if (set.instruction.sparse && set.selectors[index] != selector) {
      continue;
    }
    cases.push_back(index);
    image.append(set.operands, index, launch);
    if (set.instruction.sparse) {
      const auto count = static_cast<std::size_t>(image.lanes());
      std::vector<std::uint32_t> others(count);
      for (std::size_t lane = 0; lane < count; ++lane) {
        others[lane] = static_cast<std::uint32_t>(lanes.bits(index * count + lane));
      }
      const auto words = image.metadata(set.nibbles[index], selector, others);
      launch.metadata.insert(launch.metadata.end(), words.begin(), words.end());
    }
  }
  return launch;
}

std::size_t unwritten(const std::vector<std::uint32_t>& first, MmaLaunch launch, Device& device) {
  if (std::find(first.begin(), first.end(), kPoison) == first.end()) {
    return 0;
  }
  launch.poison = kOtherPoison;
  const std::vector<std::uint32_t> second = device.run(launch);
  std::size_t count = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    count += first[i] == kPoison && second[i] == kOtherPoison;
  }
  return count;
}

}  // namespace

std::vector<MmaInstruction> captured_instructions(const mma::Target& target) {
  std::vector<MmaInstruction> result;
  for (const mma::CatalogueEntry& entry : mma::instructions(target)) {
    MmaInstruction instruction = entry.instruction;
    const bool known_family = instruction.family == MmaFamily::kMma || instruction.family == MmaFamily::kWgmma;
    if (known_family && !entry.is_software && !instruction.scales && !is_narrow_float(instruction.a_type) &&
        !is_narrow_float(instruction.b_type) && (instruction.family == MmaFamily::kMma || instruction.shape.n == 8)) {
      result.push_back(instruction);
    }
  }
  return result;
}

std::string qualifier(const MmaInstruction& instruction) {
  std::string text = instruction.ptx_name();
  text.erase(0, text.find(".m" + std::to_string(instruction.shape.m) + "n") + 1);
  constexpr std::string_view kSilent = ".row.col";
  if (const std::size_t at = text.find(kSilent); at != std::string::npos) {
    text.erase(at, kSilent.size());
  }
  return text;
}

std::string family(const MmaInstruction& instruction) {
  return std::string(instruction.family == MmaFamily::kWgmma ? "wgmma" : "mma") + (instruction.sparse ? "sp" : "");
}

ExecutedSet execute(const CaseSet& set, std::uint64_t seed, Device& device) {
  const OperandImage image(set.instruction);
  const auto m = static_cast<std::size_t>(set.instruction.shape.m);
  const auto n = static_cast<std::size_t>(set.instruction.shape.n);
  const auto lanes = static_cast<std::size_t>(image.lanes());
  ExecutedSet result;
  result.poison = kPoison;
  result.d =
      check::vectors::make_bit_array({set.cases(), m, n}, check::vectors::element_bytes(set.instruction.accumulator));
  result.metadata.resize(set.instruction.sparse ? set.cases() * lanes : 0);
  for (int selector = 0; selector < image.selectors(); ++selector) {
    std::vector<std::size_t> cases;
    MmaLaunch launch = launch_of(set, image, selector, cases, seed);
    if (cases.empty()) {
      continue;
    }
    launch.poison = kPoison;
    const std::vector<std::uint32_t> registers = device.run(launch);
    if (registers.size() != launch.d_words) {
      throw base::InternalError("a device returned another number of registers");
    }
    result.unwritten += unwritten(registers, launch, device);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto words = image.result(registers, i);
      std::copy(words.begin(), words.end(), result.d.bits.begin() + static_cast<std::ptrdiff_t>(cases[i] * m * n));
      if (set.instruction.sparse) {
        std::copy_n(launch.metadata.begin() + static_cast<std::ptrdiff_t>(i * lanes), lanes,
                    result.metadata.begin() + static_cast<std::ptrdiff_t>(cases[i] * lanes));
      }
    }
  }
  return result;
}

ItemOutcome write_set(const CaptureWriter& writer, const CaseSet& set, const ExecutedSet& executed,
                      const std::string& arch, std::uint64_t seed) {
  const MmaInstruction& instruction = set.instruction;
  const std::string stem = family(instruction) + "." + qualifier(instruction) + "." + set.name;
  const std::filesystem::path bits = writer.directory() / "bits";
  const auto write = [&](const char* array, const check::vectors::BitArray& content) {
    check::vectors::write_bit_array(bits / (stem + "." + array + ".npy"), content);
  };
  write("A", set.operands.a);
  write("B", set.operands.b);
  write("C", set.operands.c);
  write("D", executed.d);
  write("cat", {{set.cases()}, 1, set.category_of_case});
  if (instruction.sparse) {
    write("idx", *set.operands.indices);
    write("E", {{set.cases(), executed.metadata.size() / set.cases()}, 4, executed.metadata});
    write("sel", {{set.cases()}, 1, {set.selectors.begin(), set.selectors.end()}});
  }
  const Json json{{"measured", true},
                  {"arch", arch},
                  {"family", family(instruction)},
                  {"qualifier", qualifier(instruction)},
                  {"m", instruction.shape.m},
                  {"n", instruction.shape.n},
                  {"k", instruction.shape.k},
                  {"a", numerics::name(instruction.a_type)},
                  {"b", numerics::name(instruction.b_type)},
                  {"c", numerics::name(instruction.c_type())},
                  {"d", numerics::name(instruction.accumulator)},
                  {"cases", set.cases()},
                  {"ptx", instruction.ptx_name()},
                  {"case_set", set.name},
                  {"categories", set.categories},
                  {"seed", set.seeded ? Json(seed) : Json()},
                  {"poison", fmt::format("{:#010x}", executed.poison)},
                  {"unwritten", executed.unwritten},
                  {"source", set.source}};
  io::write_file(bits / (stem + ".json"), json.dump(1) + "\n");
  const std::string file = "bits/" + stem + ".json";
  if (executed.unwritten > 0) {
    return {ItemStatus::kPartial, fmt::format("{} registers of D were not written", executed.unwritten), file};
  }
  return {ItemStatus::kOk, "", file};
}

void capture_bits(CaptureWriter& writer, const mma::Target& target, const BitProgramme& programme, Device& device) {
  const std::string arch(target.name);
  std::set<std::string> wanted;
  const auto capture = [&](const CaseSet& set) {
    const std::string name = family(set.instruction) + "." + qualifier(set.instruction);
    writer.item("bits/" + name + "." + set.name, [&] {
      const std::string ptx = set.instruction.ptx_name();
      if (!device.has(ptx)) {
        throw AbsentError("no kernel or no arithmetic for " + ptx);
      }
      return write_set(writer, set, execute(set, programme.seed, device), arch, programme.seed);
    });
  };
  for (const MmaInstruction& instruction : captured_instructions(target)) {
    wanted.insert(instruction.ptx_name());
    capture(defined_cases(instruction, programme.seed, programme.cases_per_category));
    if (instruction.sparse) {
      capture(undefined_cases(instruction, programme.seed, programme.cases_per_category));
    }
  }
  if (programme.golden.empty()) {
    return;
  }
  std::vector<CaseSet> golden;
  std::string unread;
  try {
    golden = golden_sets(programme.golden, programme.seed);
  } catch (const std::exception& error) {
    unread = error.what();
  }
  writer.item("golden", [&]() -> ItemOutcome {
    return unread.empty() ? ItemOutcome{} : ItemOutcome{ItemStatus::kFailed, unread, ""};
  });
  for (const CaseSet& set : golden) {
    if (wanted.contains(set.instruction.ptx_name())) {
      capture(set);
    }
  }
}

}  // namespace sptc::hardware
