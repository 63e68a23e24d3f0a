// SPDX-License-Identifier: Apache-2.0
#include "sim/config/kernel_library.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/config/architecture.h"
#include "sim/config/evidence.h"
#include "sim/config/named_file.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/kernels/gemm_problem.h"
#include "sim/kernels/kernel_overrides.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

namespace sptc::config {
namespace {

using nlohmann::json;

/// [m, n]: multiples of an mma instruction; [m, n, k] where the depth is known, else k is 0.
/// `transposed`: of D^T, whose rows are the columns of D.
std::array<int, 3> tile(const io::JsonObject& object, std::string_view key, bool transposed) {
  const io::JsonPlace place = object.place() / key;
  const json& value = object.array(key);
  if (value.size() != 2 && (value.size() != 3 || key != "cta")) {
    place.fail("must be [m, n], not {} numbers", value.size());
  }
  std::array<int, 3> extents{};
  for (std::size_t i = 0; i < value.size(); ++i) {
    extents[i] = static_cast<int>(io::to_integer(value[i], place / i, 8, kernels::kMaxTileExtent));
  }
  const auto [rows, columns] = transposed ? std::pair(extents[1], extents[0]) : std::pair(extents[0], extents[1]);
  if (rows % 16 != 0 || columns % 8 != 0) {
    place.fail("{} x {} is no multiple of {}", extents[0], extents[1], transposed ? "8 x 16" : "16 x 8");
  }
  return extents;
}

/// Refuses tiles that the instruction does not make: each of its warps stores an equal part of the
/// rows, with all columns.
void check_family(const kernels::TileShape& tile, const io::JsonPlace& place) {
  const bool of_tensor_memory = tile.family == mma::MmaFamily::kTcgen05;
  if (tile.cta_group > 1 && !of_tensor_memory) {
    (place / "cta_group").fail("needs tcgen05.mma");
  }
  if (tile.family == mma::MmaFamily::kMma) {
    if (tile.transposed) {
      (place / "transposed").fail("needs wgmma or tcgen05.mma");
    }
    return;
  }
  const int rows = kernels::asynchronous_rows(tile.family);
  const int of_warp = rows / mma::kWarpsPerWarpgroup;
  const auto [m, n, warp_m, warp_n] = tile.transposed ? std::array{tile.cta_n, tile.cta_m, tile.warp_n, tile.warp_m}
                                                      : std::array{tile.cta_m, tile.cta_n, tile.warp_m, tile.warp_n};
  const bool of_cta = of_tensor_memory ? m == rows : m % rows == 0;
  if (!of_cta || warp_m != of_warp || warp_n != n) {
    (place / "warp")
        .fail("must be [{}, n] in a CTA tile of [{}{}, n]: of {}", of_warp, of_tensor_memory ? "" : "a multiple of ",
              rows, mma::name(tile.family));
  }
}

std::uint32_t types(const io::JsonObject& object) {
  static_assert(static_cast<int>(numerics::DataType::kB1) < 32);
  std::uint32_t bits = 0;
  if (!object.has("types")) {
    return bits;
  }
  object.each("types", [&](const json& element, const io::JsonPlace& place) {
    if (!element.is_string()) {
      place.fail("must be the name of a type");
    }
    const auto word = element.get<std::string>();
    const std::optional<numerics::DataType> type = numerics::parse_data_type(word);
    if (!type || !numerics::is_operand_type(*type)) {
      place.fail("unknown type " + base::unknown_name(io::printable(word), numerics::operand_type_names()));
    }
    bits |= 1U << static_cast<int>(*type);
  });
  return bits;
}

/// A tile for each of its clusters.
void read_tile(const io::JsonObject& object, std::vector<kernels::TileShape>& tiles) {
  const std::uint32_t of_types = types(object);
  object.allow_only({"cta", "warp", "instruction", "cta_group", "clusters", "types", "transposed", "layouts"});
  const bool transposed = object.boolean_or("transposed", false);
  const auto [cta_m, cta_n, cta_k] = tile(object, "cta", transposed);
  using mma::MmaFamily;
  constexpr std::array kFamilies{MmaFamily::kMma, MmaFamily::kWgmma, MmaFamily::kTcgen05};
  const MmaFamily of_tile = kFamilies[object.choice(
      "instruction", {mma::name(kFamilies[0]), mma::name(kFamilies[1]), mma::name(kFamilies[2])},
      "unknown instruction")];
  const int of_warp = kernels::asynchronous_rows(of_tile) / mma::kWarpsPerWarpgroup;
  const bool follows = of_tile != mma::MmaFamily::kMma && !object.has("warp");
  const auto [warp_m, warp_n, none] = !follows     ? tile(object, "warp", transposed)
                                      : transposed ? std::array{cta_m, of_warp, 0}
                                                   : std::array{of_warp, cta_n, 0};
  if (cta_m % warp_m != 0 || cta_n % warp_n != 0) {
    (object.place() / "warp").fail("{} x {} does not divide the CTA tile", warp_m, warp_n);
  }
  const auto cta_group = static_cast<int>(object.integer_or("cta_group", 1, 1, 2));
  kernels::TileShape shape{cta_m, cta_n, warp_m, warp_n, of_tile, cta_group, of_types, cta_k, 0, transposed};
  check_family(shape, object.place());
  if (!object.has("clusters")) {
    tiles.push_back(shape);
    return;
  }
  object.each("clusters", [&](const json& ctas, const io::JsonPlace& place) {
    shape.cluster_ctas = static_cast<int>(io::to_integer(ctas, place, 1, kernels::kMaxClusterCtas));
    tiles.push_back(shape);
  });
}

std::vector<kernels::TileShape> read_tiles(const io::JsonObject& root, std::string_view key) {
  std::vector<kernels::TileShape> result;
  root.each(key, [&](const json& tile, const io::JsonPlace& place) { read_tile(io::JsonObject(tile, place), result); });
  return result;
}

kernels::SegmentK read_segment_k(const io::JsonObject& object) {
  constexpr std::int64_t kMostK = 1 << 20, kMostBytes = 1024;
  object.allow_only({"least_k", "least_k_of_16_bits", "most_of_last_round_percent", "sum_bytes_per_cycle"});
  return {static_cast<int>(object.integer("least_k", 1, kMostK)),
          static_cast<int>(object.integer("least_k_of_16_bits", 1, kMostK)),
          static_cast<int>(object.integer("most_of_last_round_percent", 1, 100)),
          static_cast<int>(object.integer("sum_bytes_per_cycle", 1, kMostBytes))};
}

/// "sparse_defaults": each a tile with "types" and the "layouts" of B and D that it is for.
std::vector<kernels::DefaultKernel> read_defaults(const io::JsonObject& root) {
  std::vector<kernels::DefaultKernel> result;
  root.each("sparse_defaults", [&](const json& element, const io::JsonPlace& at) {
    const io::JsonObject entry(element, at);
    std::vector<kernels::TileShape> tiles;
    read_tile(entry, tiles);
    if (tiles.size() != 1 || tiles.front().types == 0) {
      entry.place().fail("must be of one cluster and name its types");
    }
    entry.each("layouts", [&](const json& layout, const io::JsonPlace& place) {
      const std::string word = layout.is_string() ? layout.get<std::string>() : "";
      result.push_back({place.named([&] { return kernels::parse_layout("layout", word); }), tiles});
    });
  });
  return result;
}

kernels::KernelLibrarySpec read_library(const json& document, const std::string& file) {
  const io::JsonObject root(document, {file, ""});
  root.allow_only({"name", "evidence", "source", "tiles", "integer_tiles", "integer_best_tiles", "sparse_tiles",
                   "most_split_k", "integer_most_split_k", "sparse_most_split_k", "segment_k", "sparse_defaults",
                   "swizzle", "sparse_swizzle", "f16_reduction_scheme", "fp8_accumulation"});
  root.text("name");
  read_evidence(root);
  kernels::KernelLibrarySpec library;
  library.tiles = read_tiles(root, "tiles");
  for (const auto& [key, tiles] : {std::pair("integer_tiles", &library.integer_tiles),
                                   std::pair("integer_best_tiles", &library.integer_best_tiles),
                                   std::pair("sparse_tiles", &library.sparse_tiles)}) {
    if (root.has(key)) {
      *tiles = read_tiles(root, key);
    }
  }
  if (root.has("segment_k")) {
    library.segment_k = read_segment_k(root.object("segment_k"));
  }
  if (root.has("sparse_defaults")) {
    library.sparse_defaults = read_defaults(root);
  }
  const auto number = [&](std::string_view key, int usual, std::int64_t most) {
    return static_cast<int>(root.integer_or(key, usual, 1, most));
  };
  using kernels::kMaxSplitK, kernels::kMaxTileExtent;
  library.swizzle = number("swizzle", library.swizzle, kMaxTileExtent);
  library.sparse_swizzle = number("sparse_swizzle", library.swizzle, kMaxTileExtent);
  library.most_split_k = number("most_split_k", library.most_split_k, kMaxSplitK);
  library.integer_most_split_k = number("integer_most_split_k", library.most_split_k, kMaxSplitK);
  library.sparse_most_split_k = number("sparse_most_split_k", library.most_split_k, kMaxSplitK);
  library.f16_reduction_scheme = static_cast<kernels::ReductionScheme>(
      root.choice("f16_reduction_scheme", {"compute_type", "output_type"}, "unknown word"));
  library.fp8_accumulation =
      static_cast<kernels::Fp8Accumulation>(root.choice("fp8_accumulation", {"fast", "promoted"}, "unknown word"));
  return library;
}

}  // namespace

kernels::KernelLibrarySpec parse_kernel_library(std::string_view text, const std::string& file) {
  return read_library(io::parse_json(text, file), file);
}

kernels::KernelLibrarySpec load_kernel_library(const std::string& name, const std::string& asked_by) {
  const std::vector<std::filesystem::path> directories = config_directories("libraries");
  for (const std::filesystem::path& directory : directories) {
    if (std::ranges::binary_search(names_in(directory), name)) {
      const std::filesystem::path path = directory / (name + ".json");
      return read_library(read_named_file(name, path), path.string());
    }
  }
  const std::vector<std::string> names = names_in(directories);
  const std::vector<std::string_view> allowed(names.begin(), names.end());
  throw base::InputError(asked_by + ": unknown library " + base::unknown_name(io::printable(name), allowed));
}

}  // namespace sptc::config
