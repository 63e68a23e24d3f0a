// SPDX-License-Identifier: Apache-2.0
#include "sim/config/board_names.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/config/architecture.h"
#include "sim/config/named_file.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <array>
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

void add_aliases(const std::filesystem::path& directory, Aliases& aliases) {
  const std::filesystem::path path = directory / "common" / "aliases.json";
  if (!std::filesystem::exists(path)) {
    return;
  }
  constexpr std::array<std::string_view, 2> kKeys{"description", "aliases"};
  const nlohmann::json document = read_named_file(path.string(), path);
  const io::JsonObject root(document, {path.string(), ""});
  root.allow_only(kKeys);
  const io::JsonObject list = root.object("aliases");
  for (const auto& [alias, unused] : list.value().items()) {
    aliases[spelling(alias)] = list.text(alias);
  }
}

Aliases read_aliases() {
  Aliases aliases;
  add_aliases(shipped_config_directory(), aliases);
  if (config_directory() != shipped_config_directory()) {
    add_aliases(config_directory(), aliases);
  }
  return aliases;
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
  const Aliases aliases = read_aliases();
  const auto found = aliases.find(wanted);
  return found == aliases.end() ? word : found->second;
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
  throw base::InputError("unknown architecture " +
                         base::unknown_name(io::printable(word), allowed));
}

}  // namespace sptc::config
