// SPDX-License-Identifier: Apache-2.0
#include "sim/config/named_file.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <system_error>
#include <utility>

namespace sptc::config {

bool is_path(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".json");
}

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".json") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> names_in(const std::vector<std::filesystem::path>& directories) {
  std::set<std::string> names;
  for (const std::filesystem::path& directory : directories) {
    for (std::string& name : names_in(directory)) {
      names.insert(std::move(name));
    }
  }
  return {names.begin(), names.end()};
}

std::filesystem::path named_path(const std::string& name_or_path, std::string_view what,
                                 const std::vector<std::filesystem::path>& directories) {
  if (is_path(name_or_path)) {
    return name_or_path;
  }
  std::vector<std::string> names;
  for (const std::filesystem::path& directory : directories) {
    for (std::string& name : names_in(directory)) {
      if (name == name_or_path) {
        return directory / (name + ".json");
      }
      names.push_back(std::move(name));
    }
  }
  const std::vector<std::string_view> allowed(names.begin(), names.end());
  io::refuse("unknown {} {} in {}", what, base::unknown_name(io::printable(name_or_path), allowed),
             directories.front().string());
}

nlohmann::json read_named_file(const std::string& name_or_path, const std::filesystem::path& path) {
  constexpr std::uint64_t kMaxFileBytes = 1 << 20;
  nlohmann::json document = io::parse_json(io::read_text_file(path, kMaxFileBytes), path.string());
  // Documents that the program writes say so; else each of its keys would be an error of its own.
  if (document.is_object() && document.contains("schema")) {
    io::JsonPlace{path.string(), ""}.fail("a file of the schema {} holds no numbers of hardware",
                                          io::describe(document["schema"]));
  }
  if (document.is_object() && document.contains("name") && !is_path(name_or_path) &&
      document["name"] != path.stem().string()) {
    (io::JsonPlace{path.string(), ""} / "name")
        .fail("must be '{}', as the file is called, not {}", path.stem().string(), io::describe(document["name"]));
  }
  return document;
}

}  // namespace sptc::config
