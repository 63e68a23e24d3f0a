// SPDX-License-Identifier: Apache-2.0
//
// PTX names of matrix instructions, read back.
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/catalogue.h"
#include "models/mma/instruction.h"
#include "models/numerics/data_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace sptc::mma {
namespace {

using numerics::DataType;

// Parts that say nothing that the shape and the types do not.
constexpr std::array<std::string_view, 12> kSilentParts{"sync",         "aligned",   "row",          "col",
                                                        "popc",         "mma_async", "kind::f16",    "kind::tf32",
                                                        "kind::f8f6f4", "kind::i8",  "cta_group::1", "mma"};

/// A part that says something about block scales.
struct ScalePart {
  std::string_view text;
  std::optional<ScaledKind> kind = std::nullopt;
  std::optional<numerics::ScaleType> type = std::nullopt;
  int vector = 0;  ///< scales of a row; 0: not said
  int block = 0;   ///< elements that share one; 0: not said
};
constexpr std::array kScaleParts{
    ScalePart{.text = "block_scale"},
    ScalePart{.text = "kind::mxf8f6f4", .kind = ScaledKind::kMxf8f6f4},
    ScalePart{.text = "kind::mxf4", .kind = ScaledKind::kMxf4},
    ScalePart{.text = "kind::mxf4nvf4", .kind = ScaledKind::kMxf4nvf4},
    ScalePart{.text = "ue8m0", .type = numerics::ScaleType::kUe8m0},
    ScalePart{.text = "ue4m3", .type = numerics::ScaleType::kUe4m3},
    ScalePart{.text = "scale_vec::1X", .vector = 1},
    ScalePart{.text = "scale_vec::2X", .vector = 2},
    ScalePart{.text = "scale_vec::4X", .vector = 4},
    ScalePart{.text = "block16", .block = 16},
    ScalePart{.text = "block32", .block = 32},
};

// Parts of matrix instructions (PTX ISA 9.0) that no modelled one has: of wmma, of loads and stores
// of matrices, of tcgen05 beside its mma.
constexpr std::string_view kNotModelled =
    "wmma load store ldmatrix stmatrix movmatrix trans num x1 x2 x4 b8 b16 b8x16 b4x16_p64 "
    "b6x16_p32 rn rz rm rp fence commit_group wait_group cta_group::2 ws ashift alloc dealloc "
    "relinquish_alloc_permit ld st red wait wait::ld wait::st cp shift commit "
    "fence::before_thread_sync fence::after_thread_sync down";
constexpr std::string_view kCollector = "collector::";  // and which one, and for what
constexpr std::string_view kOrdered = "sp::ordered_metadata";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

/// "m16n8k16"; nothing where `part` is no shape.
std::optional<MmaShape> parse_shape(std::string_view part) {
  MmaShape shape;
  const char* at = part.data();
  const char* const end = at + part.size();
  for (const auto& [letter, extent] : {std::pair{'m', &shape.m}, std::pair{'n', &shape.n}, std::pair{'k', &shape.k}}) {
    if (at == end || *at != letter) {
      return std::nullopt;
    }
    const auto [stop, error] = std::from_chars(at + 1, end, *extent);
    if (error != std::errc() || *extent < 1) {
      return std::nullopt;
    }
    at = stop;
  }
  return at == end ? std::optional(shape) : std::nullopt;
}

/// Why a name with `part`, which take_flag() does not take, is refused.
std::string refusal_of(std::string_view part) {
  std::vector<std::string_view> known = split(kNotModelled, ' ');
  const bool is_ptx = part.starts_with(kCollector) || std::find(known.begin(), known.end(), part) != known.end();
  const std::string quoted = "'" + std::string(part.substr(0, 40)) + "'";
  if (is_ptx) {
    return quoted +
           " is part of PTX, but not modelled: mma, mma.sp, wgmma.mma_async and tcgen05.mma are, "
           "with the shapes and types of 'sptcsim mma --list'";
  }
  known.insert(known.begin(), kSilentParts.begin(), kSilentParts.end());
  for (const ScalePart& scale_part : kScaleParts) {
    known.push_back(scale_part.text);
  }
  known.insert(known.end(), {"wgmma", "tcgen05", "sp", kOrdered, "satfinite", "and", "xor"});
  const std::vector<std::string_view> types = numerics::operand_type_names();
  known.insert(known.end(), types.begin(), types.end());
  return quoted + " is no part of a PTX matrix instruction, nearest is '" +
         std::string(base::nearest_name(part.substr(0, 40), known)) + "'";
}

/// Takes one part that is neither shape nor type; false where it is unknown.
bool take_flag(std::string_view part, MmaInstruction& instruction) {
  if (part == "wgmma") {
    instruction.family = MmaFamily::kWgmma;
  } else if (part == "tcgen05") {
    instruction.family = MmaFamily::kTcgen05;
  } else if (part == "sp" || part == kOrdered) {
    instruction.sparse = true;
    instruction.ordered_metadata = part == kOrdered;
  } else if (part == "satfinite") {
    instruction.satfinite = true;
  } else if (part == "and") {
    instruction.bit_operation = BitOperation::kAnd;
  } else if (part == "xor") {
    instruction.bit_operation = BitOperation::kXor;
  } else {
    return std::find(kSilentParts.begin(), kSilentParts.end(), part) != kSilentParts.end();
  }
  return true;
}

/// What the parts of a name say about scales together.
class ScaleParts {
 public:
  /// False where `part` says nothing about scales.
  bool take(std::string_view part) {
    const auto found = std::find_if(kScaleParts.begin(), kScaleParts.end(),
                                    [&](const ScalePart& known) { return known.text == part; });
    if (found == kScaleParts.end()) {
      return false;
    }
    any_ = true;
    said_.kind = found->kind ? found->kind : said_.kind;
    said_.type = found->type ? found->type : said_.type;
    said_.vector = std::max(found->vector, said_.vector);
    said_.block = std::max(found->block, said_.block);
    return true;
  }

  bool any() const { return any_; }

  /// Why a row of `depth` elements has no such scales; null where it has.
  const char* problem(int depth) const {
    const bool sized = said_.vector != 0 || said_.block != 0;
    if (said_.kind == ScaledKind::kMxf4nvf4 && !sized) {
      return "kind::mxf4nvf4 needs scale_vec::2X or scale_vec::4X";
    }
    const bool whole = said_.vector == 0 || (depth > 0 && depth % said_.vector == 0);
    return whole ? nullptr : "k is no multiple of the scales of a row";
  }

  BlockScales scales(int depth) const {
    BlockScales result = kMxf8f6f4Scales;
    result.kind = said_.kind.value_or(result.kind);
    if (said_.block != 0 || said_.vector != 0) {
      result.block = said_.block != 0 ? said_.block : depth / said_.vector;
    }
    const bool is_nvfp4 = result.kind == kNvf4Scales.kind && result.block == kNvf4Scales.block;
    result.type = said_.type.value_or(is_nvfp4 ? kNvf4Scales.type : result.type);
    return result;
  }

 private:
  bool any_ = false;
  ScalePart said_{};
};

}  // namespace

MmaInstruction parse_instruction(std::string_view name) {
  const auto fail = [&](const std::string& problem) {
    throw base::InputError("instruction '" + std::string(name.substr(0, 120)) + "': " + problem +
                           " (an example: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32)");
  };
  MmaInstruction instruction{};
  std::optional<MmaShape> shape;
  std::vector<DataType> types;
  ScaleParts scale_parts;
  for (const std::string_view part : split(name, '.')) {
    if (const auto type = numerics::parse_data_type(part)) {
      types.push_back(*type);
    } else if (const auto extents = parse_shape(part); extents && !shape) {
      shape = extents;
    } else if (!scale_parts.take(part) && !take_flag(part, instruction)) {
      fail(refusal_of(part));
    }
  }
  if (!shape) {
    fail("a shape such as m16n8k16 is missing");
  }
  if (types.size() != 3 && types.size() != 4) {
    fail("the types of D, A, B and C are needed, not " + std::to_string(types.size()));
  }
  if (instruction.ordered_metadata && instruction.is_asynchronous()) {
    fail("'sp::ordered_metadata' belongs to mma; wgmma and tcgen05 have 'sp'");
  }
  instruction.shape = *shape;
  instruction.accumulator = types[0];
  instruction.a_type = types[1];
  instruction.b_type = types[2];
  if (types.size() == 4 && types[3] != types[0]) {
    instruction.addend = types[3];
  }
  if (scale_parts.any()) {
    const int depth = instruction.compressed_k();
    if (const char* const problem = scale_parts.problem(depth)) {
      fail(problem);
    }
    instruction.scales = scale_parts.scales(depth);
    instruction.ordered_metadata = false;  // all of them are
  }
  return instruction;
}

}  // namespace sptc::mma
