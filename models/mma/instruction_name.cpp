// SPDX-License-Identifier: Apache-2.0
//
// PTX names of matrix instructions, read back.
#include "models/base/error.h"
#include "models/base/text.h"
#include "models/mma/catalogue.h"

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
constexpr std::array<std::string_view, 14> kSilentParts{
    "sync",         "aligned",       "row",        "col",          "popc",
    "mma_async",    "kind::f16",     "kind::tf32", "kind::f8f6f4", "kind::i8",
    "cta_group::1", "scale_vec::1X", "ue8m0",      "mma"};

// Parts of matrix instructions (PTX ISA 9.0) that no modelled one has: of wmma, of loads and stores
// of matrices, of tcgen05 beside its mma, of blocks with scales of 16 or of 4-bit floats.
constexpr std::string_view kNotModelled =
    "wmma load store ldmatrix stmatrix movmatrix trans num x1 x2 x4 b8 b16 b8x16 b4x16_p64 "
    "b6x16_p32 rn rz rm rp fence commit_group wait_group kind::mxf4 kind::mxf4nvf4 "
    "scale_vec::2X scale_vec::4X block16 block32 ue4m3 cta_group::2 ws ashift alloc dealloc "
    "relinquish_alloc_permit ld st red wait wait::ld wait::st cp shift commit "
    "fence::before_thread_sync fence::after_thread_sync down";
constexpr std::string_view kCollector = "collector::";  // and which one, and for what

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
  for (const auto& [letter, extent] :
       {std::pair{'m', &shape.m}, std::pair{'n', &shape.n}, std::pair{'k', &shape.k}}) {
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
  const bool is_ptx =
      part.starts_with(kCollector) || std::find(known.begin(), known.end(), part) != known.end();
  const std::string quoted = "'" + std::string(part.substr(0, 40)) + "'";
  if (is_ptx) {
    return quoted +
           " is part of PTX, but not modelled: mma, mma.sp, wgmma.mma_async and tcgen05.mma are, "
           "with the shapes and types of 'sptcsim mma --list'";
  }
  known.insert(known.begin(), kSilentParts.begin(), kSilentParts.end());
  known.insert(known.end(), {"wgmma", "tcgen05", "sp", "sp::ordered_metadata", "satfinite",
                             "block_scale", "kind::mxf8f6f4", "and", "xor"});
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
  } else if (part == "sp" || part == "sp::ordered_metadata") {
    instruction.sparse = true;
  } else if (part == "satfinite") {
    instruction.satfinite = true;
  } else if (part == "block_scale" || part == "kind::mxf8f6f4") {
    instruction.block_scaled = true;
  } else if (part == "and") {
    instruction.bit_operation = BitOperation::kAnd;
  } else if (part == "xor") {
    instruction.bit_operation = BitOperation::kXor;
  } else {
    return std::find(kSilentParts.begin(), kSilentParts.end(), part) != kSilentParts.end();
  }
  return true;
}

}  // namespace

MmaInstruction parse_instruction(std::string_view name) {
  const auto fail = [&](const std::string& problem) {
    throw base::InputError("instruction '" + std::string(name.substr(0, 120)) + "': " + problem +
                           " (an example: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32)");
  };
  MmaInstruction instruction{};
  std::optional<MmaShape> shape;
  std::vector<DataType> types;
  for (const std::string_view part : split(name, '.')) {
    if (const auto type = numerics::parse_data_type(part)) {
      types.push_back(*type);
    } else if (const auto extents = parse_shape(part); extents && !shape) {
      shape = extents;
    } else if (!take_flag(part, instruction)) {
      fail(refusal_of(part));
    }
  }
  if (!shape) {
    fail("a shape such as m16n8k16 is missing");
  }
  if (types.size() != 3 && types.size() != 4) {
    fail("the types of D, A, B and C are needed, not " + std::to_string(types.size()));
  }
  instruction.shape = *shape;
  instruction.accumulator = types[0];
  instruction.a_type = types[1];
  instruction.b_type = types[2];
  if (types.size() == 4 && types[3] != types[0]) {
    instruction.addend = types[3];
  }
  return instruction;
}

}  // namespace sptc::mma
