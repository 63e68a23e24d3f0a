// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/given_options.h"

#include "models/base/error.h"
#include "sim/config/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::sim {
namespace {

/// A value of an option that may be the name of a file.
struct NamedFile {
  std::string option;
  std::filesystem::path path;
  bool written = false;
};

void add_files(const CLI::App& command, std::vector<NamedFile>& files) {
  constexpr std::array<std::string_view, 3> kWritten{"--out", "--rows", "--vcd"};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw InputError(name + ": the value is empty");
      }
      if (option->get_type_name().find("FILE") != std::string::npos) {
        const bool written = std::find(kWritten.begin(), kWritten.end(), name) != kWritten.end();
        files.push_back({name, value, written});
      }
    }
  }
}

bool same(const std::filesystem::path& left, const std::filesystem::path& right) {
  std::error_code error;
  return std::filesystem::equivalent(left, right, error) ||
         std::filesystem::absolute(left, error).lexically_normal() ==
             std::filesystem::absolute(right, error).lexically_normal();
}

}  // namespace

void check_given_options(const CLI::App& app) {
  std::vector<NamedFile> files;
  const CLI::App* command = &app;
  add_files(*command, files);
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    add_files(*command, files);
  }
  for (const NamedFile& output : files) {
    if (!output.written) {
      continue;
    }
    const auto other = std::find_if(files.begin(), files.end(), [&](const NamedFile& file) {
      return &file != &output && same(file.path, output.path);
    });
    if (other != files.end()) {
      throw InputError(fmt::format("{} {}: {} names the same file", output.option,
                                   printable(output.path.string()), other->option));
    }
  }
}

}  // namespace sptc::sim
