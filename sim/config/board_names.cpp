// SPDX-License-Identifier: Apache-2.0
#include "sim/config/board_names.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/config/architecture.h"
#include "sim/config/named_file.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

namespace sptc::config {
namespace {

using Aliases = std::map<std::string, std::string>;  ///< plain spelling to board

/// `name` as it is compared: the maker's words in front say nothing.
std::string spelling(std::string_view name) {
  std::string plain = base::plain_name(name);
  for (const std::string_view maker : {"nvidia", "geforce", "tesla"}) {
    if (plain.starts_with(maker)) {
      plain.erase(0, maker.size());
    }
  }
  return plain;
}

struct KnownNames {
  Aliases aliases;
  Aliases chips;  ///< plain spelling of a GPU to its chip
};

void add_names(const std::filesystem::path& directory, KnownNames& names) {
  const std::filesystem::path path = directory / "common" / "aliases.json";
  if (!std::filesystem::exists(path)) {
    return;
  }
  const nlohmann::json document = read_named_file(path.string(), path);
  const io::JsonObject root(document, {path.string(), ""});
  root.allow_only({"description", "aliases", "chips"});
  const io::JsonObject list = root.object("aliases");
  for (const auto& [alias, unused] : list.value().items()) {
    names.aliases[spelling(alias)] = list.text(alias);
  }
  if (document.contains("chips")) {
    const io::JsonObject chips = root.object("chips");
    for (const auto& [gpu, unused] : chips.value().items()) {
      names.chips[spelling(gpu)] = chips.text(gpu);
    }
  }
}

KnownNames read_names() {
  KnownNames names;
  add_names(shipped_config_directory(), names);
  if (config_directory() != shipped_config_directory()) {
    add_names(config_directory(), names);
  }
  return names;
}

/// The chip of the GPU whose name `word` begins with; empty: not known.
std::string chip_of(std::string_view word, const Aliases& chips) {
  const std::string wanted = spelling(word);
  std::size_t longest = 0;
  std::string chip;
  for (const auto& [gpu, of] : chips) {
    const bool whole =
        wanted.size() == gpu.size() ||
        (wanted.size() > gpu.size() && std::isdigit(static_cast<unsigned char>(wanted[gpu.size()])) == 0);
    if (wanted.starts_with(gpu) && whole && gpu.size() > longest) {
      longest = gpu.size();
      chip = of;
    }
  }
  return chip;
}

/// "'rtx5080' (another chip, GB203)" for the names of `boards` that are nearest to `word`.
std::string nearest_boards(const std::string& word, std::vector<std::string_view> boards, int count,
                           const Aliases& chips) {
  const std::string own = chip_of(word, chips);
  std::string text;
  for (int i = 0; i < count && !boards.empty(); ++i) {
    const std::string_view board = base::nearest_name(word, boards);
    boards.erase(std::find(boards.begin(), boards.end(), board));
    const std::string chip = chip_of(board, chips);
    text += fmt::format("{}'{}'", i > 0 ? ", " : "", board);
    if (!chip.empty() && chip == own) {
      text += " (the same chip)";
    } else if (!chip.empty()) {
      text += fmt::format(" (another chip, {}{})", chip, own.empty() ? ", unless misspelt" : "");
    }
  }
  return text;
}

std::string unknown_board(std::string_view what, const std::string& word, const std::vector<std::string_view>& names) {
  constexpr std::size_t kQuoted = 60, kMostListed = 12;
  constexpr int kNearest = 3;
  const Aliases chips = read_names().chips;
  const std::string quoted = word.substr(0, kQuoted), chip = chip_of(quoted, chips);
  const bool listed = names.size() <= kMostListed;
  if (names.empty()) {
    return fmt::format("unknown {} '{}' (none is known)", what, io::printable(quoted));
  }
  return fmt::format(
      "unknown {} '{}' ({}nearest valid: {}; {})", what, io::printable(quoted),
      chip.empty() ? "" : fmt::format("a {}, not among the boards; ", chip),
      nearest_boards(quoted, names, listed ? 1 : kNearest, chips),
      listed ? fmt::format("allowed: {}", fmt::join(names, ", ")) : fmt::format("{} are allowed", names.size()));
}

bool is_architecture(const std::string& name) {
  const std::vector<std::string> names = architecture_names();
  return is_path(name) || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string board_name(const std::string& word) {
  if (is_architecture(word)) {
    return word;
  }
  const std::string wanted = spelling(word);
  for (const std::string& name : architecture_names()) {
    if (spelling(name) == wanted) {
      return name;
    }
  }
  const Aliases aliases = read_names().aliases;
  const auto found = aliases.find(wanted);
  return found == aliases.end() ? word : found->second;
}

std::filesystem::path board_path(const std::string& name_or_path, std::string_view what,
                                 const std::vector<std::filesystem::path>& directories) {
  const std::string name = board_name(name_or_path);
  const std::vector<std::string> names = names_in(directories);
  if (!is_path(name) && std::ranges::find(names, name) == names.end()) {
    throw base::InputError(unknown_board(what, name, {names.begin(), names.end()}) + " in " +
                           directories.front().string());
  }
  return named_path(name, what, directories);
}

std::string chip_of_board(const Architecture& architecture) {
  return architecture.chip.empty() ? chip_of(architecture.gpu.name, read_names().chips) : architecture.chip;
}

const mma::Target& target_of(const std::string& word) {
  if (const mma::Target* target = mma::lookup_target(word)) {
    return *target;
  }
  const std::string board = board_name(word);
  if (is_architecture(board)) {
    const gpu::GpuSpec gpu = load_architecture(board).gpu;
    return mma::target_of_gpu(gpu.name, gpu.instruction_set);
  }
  const std::vector<std::string> boards = architecture_names();
  std::vector<std::string_view> allowed = mma::target_names();
  allowed.insert(allowed.end(), boards.begin(), boards.end());
  throw base::InputError(unknown_board("architecture", word, allowed));
}

}  // namespace sptc::config
