// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/space/option_files.h"

#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/config/named_file.h"
#include "sim/run/energy_files.h"
#include "sim/run/option_table.h"
#include "sim/run/run_options.h"
#include "sim/sweep/files/digest.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace sptc::sweep::space {
namespace {

using Files = std::vector<std::filesystem::path>;

/// Of the configuration directory: where options name files.
constexpr std::array<std::string_view, 4> kFolders{"energy", "energy/mig", "engines", "libraries"};

/// Adds the file at the path `name`, relative to `folder`, and those so called in kFolders.
void add(const std::string& name, const std::filesystem::path& folder, Files& files) {
  const auto add_one = [&](const std::filesystem::path& file) {
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error) &&
        std::find(files.begin(), files.end(), file) == files.end()) {
      files.push_back(file);
    }
  };
  add_one((folder / name).lexically_normal());
  if (config::is_path(name)) {
    return;
  }
  const std::string known = config::board_name(name) + ".json";
  for (const std::string_view kind : kFolders) {
    for (const std::filesystem::path& directory : config::config_directories(kind)) {
      add_one((directory / known).lexically_normal());
    }
  }
}

/// What the key "base" of a JSON file says; empty where it says nothing.
std::string base_of(const std::filesystem::path& file) {
  if (file.extension() != ".json") {
    return {};
  }
  std::ifstream stream(file, std::ios::binary);
  const auto document = nlohmann::json::parse(stream, nullptr, false);
  const auto found = document.find("base");
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string option_files_digest(std::string_view option, const std::string& value) {
  const auto options = run::simulation_options();
  if (std::none_of(options.begin(), options.end(), [&](const run::SimulationOption& row) {
        return row.name == option && row.names_file;
      })) {
    return {};
  }
  Files files;
  add(value, {}, files);
  std::string digest;
  for (std::size_t i = 0; i < files.size(); ++i) {  // the bases of a file are added behind it
    const std::filesystem::path file = files[i];
    digest += files::fingerprint_of_file(file);
    if (const std::string base = base_of(file); !base.empty()) {
      add(base, file.parent_path(), files);
    }
  }
  return digest;
}

std::map<std::string, std::string> default_files_digests(const config::Architecture& architecture,
                                                         const nlohmann::json& document) {
  std::map<std::string, std::string> digests;
  const auto add_file = [&](const std::string& option, const std::string& name) {
    if (std::string digest = name.empty() ? "" : option_files_digest(option, name);
        !digest.empty()) {
      digests[option] = std::move(digest);
    }
  };
  run::EnergyFiles files;
  add_file("energy", run::energy_source({}, architecture, files).name);
  add_file("library", document.value(nlohmann::json::json_pointer("/kernels/library"), ""));
  return digests;
}

}  // namespace sptc::sweep::space
