// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::config {

/// Where a name of a file in the configuration directory is allowed, anything with a '/' or ".json"
/// at the end is a path.
bool is_path(std::string_view name_or_path);

/// Files "*.json" in `directory`, without ".json", sorted. Empty where there is no directory.
std::vector<std::string> names_in(const std::filesystem::path& directory);

std::vector<std::string> names_in(const std::vector<std::filesystem::path>& directories);

/// A path as it is, a name as the file in one of `directories` that it names. Throws InputError,
/// with the nearest name, where there is no such `what` ("architecture").
std::filesystem::path named_path(const std::string& name_or_path, std::string_view what,
                                 const std::vector<std::filesystem::path>& directories);

/// The document in the file `path`, at most 1 MiB, which `name_or_path` means. Where that is a
/// name, the document must be called as the file is, for results, energies and libraries go by it.
/// Throws InputError.
nlohmann::json read_named_file(const std::string& name_or_path, const std::filesystem::path& path);

}  // namespace sptc::config
