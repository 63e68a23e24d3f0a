// SPDX-License-Identifier: Apache-2.0
#include "sim/config/kernel_library.h"

#include "models/base/text.h"
#include "sim/config/architecture.h"
#include "sim/config/evidence.h"
#include "sim/config/named_file.h"
#include "sim/config/text_file.h"
#include "sim/gemm/choice_rule.h"
#include "sim/gemm/gemm_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

namespace sptc::sim {
namespace {

using nlohmann::json;

double percent(const JsonObject& object, std::string_view key) {
  const json& value = object.require(key);
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (!(number >= 1 && number <= 100)) {
    (object.place() / key)
        .fail(fmt::format("must be a number from 1 to 100, not {}", describe(value)));
  }
  return number;
}

/// [m, n]: multiples of an mma instruction.
std::array<int, 2> tile(const JsonObject& object, std::string_view key) {
  const JsonPlace place = object.place() / key;
  const json& value = object.array(key);
  if (value.size() != 2) {
    place.fail(fmt::format("must be [m, n], not {} numbers", value.size()));
  }
  const auto m = to_integer(value[0], place / std::size_t{0}, 16, kMaxTileExtent);
  const auto n = to_integer(value[1], place / std::size_t{1}, 8, kMaxTileExtent);
  if (m % 16 != 0 || n % 8 != 0) {
    place.fail(fmt::format("{} x {} is no multiple of 16 x 8", m, n));
  }
  return {static_cast<int>(m), static_cast<int>(n)};
}

mma::MmaFamily family(const JsonObject& object) {
  using mma::MmaFamily;
  constexpr std::array kFamilies{MmaFamily::kMma, MmaFamily::kWgmma, MmaFamily::kTcgen05};
  const std::string word = object.text_or("instruction", mma::name(MmaFamily::kMma));
  std::vector<std::string_view> names;
  for (const MmaFamily candidate : kFamilies) {
    names.push_back(mma::name(candidate));
    if (word == names.back()) {
      return candidate;
    }
  }
  (object.place() / "instruction")
      .fail("unknown instruction " + unknown_name(printable(word), names));
}

/// Refuses tiles that the instruction does not make: each of its warps stores an equal part of the
/// rows, with all columns.
void check_family(const TileShape& tile, const JsonPlace& place) {
  const bool of_tensor_memory = tile.family == mma::MmaFamily::kTcgen05;
  if (tile.cta_group > 1 && !of_tensor_memory) {
    (place / "cta_group").fail("is of tcgen05.mma");
  }
  if (tile.family == mma::MmaFamily::kMma) {
    return;
  }
  const int rows = asynchronous_rows(tile.family);
  const int of_warp = rows / mma::kWarpsPerWarpgroup;
  const bool of_cta = of_tensor_memory ? tile.cta_m == rows : tile.cta_m % rows == 0;
  if (!of_cta || tile.warp_m != of_warp || tile.warp_n != tile.cta_n) {
    (place / "warp")
        .fail(fmt::format("must be [{}, n] in a CTA tile of [{}{}, n]: of {}", of_warp,
                          of_tensor_memory ? "" : "a multiple of ", rows, mma::name(tile.family)));
  }
}

TileCandidate read_tile(const JsonObject& object) {
  constexpr std::array<std::string_view, 5> kKeys = {"cta", "warp", "instruction", "cta_group",
                                                     "main_loop_percent"};
  object.allow_only(kKeys);
  const auto [cta_m, cta_n] = tile(object, "cta");
  const auto [warp_m, warp_n] = tile(object, "warp");
  if (cta_m % warp_m != 0 || cta_n % warp_n != 0) {
    (object.place() / "warp")
        .fail(fmt::format("{} x {} does not divide the CTA tile", warp_m, warp_n));
  }
  const auto cta_group = static_cast<int>(object.integer_or("cta_group", 1, 1, 2));
  const TileShape shape{cta_m, cta_n, warp_m, warp_n, family(object), cta_group};
  check_family(shape, object.place());
  return {shape, percent(object, "main_loop_percent")};
}

ChoiceRule read_rule(const JsonObject& object, const std::vector<TileCandidate>& tiles) {
  constexpr std::array<std::string_view, 6> kKeys = {"rows_above", "columns_from",      "k",
                                                     "cta",        "main_loop_percent", "source"};
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  object.allow_only(kKeys);
  object.text("source");
  ChoiceRule rule;
  rule.rows_above = object.integer("rows_above", 0, kMost);
  rule.columns_from = object.integer("columns_from", 0, kMost);
  const JsonPlace place = object.place() / "k";
  const json& range = object.array("k");
  if (range.size() != 2) {
    place.fail(fmt::format("must be [least, most], not {} numbers", range.size()));
  }
  rule.k_from = to_integer(range[0], place / std::size_t{0}, 1, kMost);
  rule.k_to = to_integer(range[1], place / std::size_t{1}, rule.k_from, kMost);
  const auto [cta_m, cta_n] = tile(object, "cta");
  rule.cta_m = cta_m;
  rule.cta_n = cta_n;
  const bool known = std::any_of(tiles.begin(), tiles.end(), [&rule](const TileCandidate& one) {
    return names_tile(rule, one.cta_m, one.cta_n);
  });
  if (!known) {
    (object.place() / "cta").fail(fmt::format("{} x {} is none of the tiles", cta_m, cta_n));
  }
  rule.main_loop_percent = percent(object, "main_loop_percent");
  return rule;
}

KernelLibrarySpec read_library(const json& document, const std::string& file) {
  constexpr std::array<std::string_view, 7> kKeys = {
      "name", "evidence", "source", "fitted_on", "tiles", "rules", "sparse_main_loop_percent"};
  const JsonObject root(document, {file, ""});
  root.allow_only(kKeys);
  root.text("name");
  read_evidence(root);
  KernelLibrarySpec library;
  library.fitted_on = root.text_or("fitted_on", "");
  const json& tiles = root.array("tiles");
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    library.tiles.push_back(read_tile(JsonObject(tiles[i], root.place() / "tiles" / i)));
  }
  if (root.has("rules")) {
    const json& rules = root.array("rules");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      library.rules.push_back(
          read_rule(JsonObject(rules[i], root.place() / "rules" / i), library.tiles));
    }
  }
  library.sparse_main_loop_percent = percent(root, "sparse_main_loop_percent");
  return library;
}

}  // namespace

KernelLibrarySpec parse_kernel_library(std::string_view text, const std::string& file) {
  return read_library(parse_json(text, file), file);
}

KernelLibrarySpec load_kernel_library(const std::string& name, const JsonPlace& place) {
  // A directory of the user's own need not repeat the libraries that are shipped.
  std::vector<std::string> names;
  for (const std::filesystem::path& directory : {config_directory(), shipped_config_directory()}) {
    for (const std::string& known : names_in(directory / "libraries")) {
      if (known == name) {
        const std::filesystem::path path = directory / "libraries" / (name + ".json");
        return read_library(read_named_file(name, path), path.string());
      }
      names.push_back(known);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::vector<std::string_view> allowed(names.begin(), names.end());
  place.fail("unknown library " + unknown_name(printable(name), allowed));
}

}  // namespace sptc::sim
