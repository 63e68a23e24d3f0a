// SPDX-License-Identifier: Apache-2.0
#include "sim/config/named_file.h"

#include "sim/config/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

namespace sptc::sim {

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

nlohmann::json read_named_file(const std::string& name_or_path, const std::filesystem::path& path) {
  constexpr std::uint64_t kMaxFileBytes = 1 << 20;
  nlohmann::json document = parse_json(read_text_file(path, kMaxFileBytes), path.string());
  if (document.is_object() && document.contains("name") && !is_path(name_or_path) &&
      document["name"] != name_or_path) {
    (JsonPlace{path.string(), ""} / "name")
        .fail(fmt::format("must be '{}', as the file is called, not {}", printable(name_or_path),
                          describe(document["name"])));
  }
  return document;
}

}  // namespace sptc::sim
