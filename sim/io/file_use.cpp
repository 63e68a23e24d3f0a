// SPDX-License-Identifier: Apache-2.0
#include "sim/io/file_use.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/stat.h>
#include <system_error>

namespace sptc::io {
namespace {

struct Output {
  std::string option;
  std::string shown;
};

struct FileUse {
  std::mutex mutex;
  std::set<std::string> inputs;
  std::map<std::string, Output> outputs;
};

FileUse file_use;

/// Device and inode; of a file that is not there yet, the place where it will be.
std::string identity(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    return fmt::format("{}:{}", found.st_dev, found.st_ino);
  }
  std::error_code error;
  const std::filesystem::path target = std::filesystem::absolute(behind_link(path), error);
  const std::filesystem::path place = std::filesystem::weakly_canonical(target, error);
  return error ? target.string() : place.string();
}

[[noreturn]] void refuse_output(const std::string& output) {
  throw base::InputError(output + ": this file is read, so it is not written over");
}

}  // namespace

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  return identity(a) == identity(b);
}

void announce_input(const std::filesystem::path& path) {
  const std::string file = identity(path);
  const std::lock_guard lock(file_use.mutex);
  if (const auto found = file_use.outputs.find(file); found != file_use.outputs.end()) {
    refuse_output(found->second.option + " " + found->second.shown);
  }
  file_use.inputs.insert(file);
}

void announce_output(std::string_view option, const std::filesystem::path& path) {
  const std::string file = identity(path);
  const std::string shown = printable(path.string());
  const std::lock_guard lock(file_use.mutex);
  if (file_use.inputs.contains(file)) {
    refuse_output(fmt::format("{} {}", option, shown));
  }
  const auto [found, fresh] = file_use.outputs.insert({file, {std::string(option), shown}});
  if (!fresh) {
    refuse("{} {}: {} names the same file", option, shown, found->second.option);
  }
}

void require_no_input(const std::filesystem::path& path) {
  const std::string file = identity(path);
  const std::lock_guard lock(file_use.mutex);
  if (file_use.inputs.contains(file)) {
    refuse_output(printable(path.string()));
  }
}

}  // namespace sptc::io
