// SPDX-License-Identifier: Apache-2.0
#include "sim/io/file_use.h"
#include "sim/io/text_file.h"
#include "sim/workload/onnx/model.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sptc::workload::onnx {
namespace {

namespace fs = std::filesystem;

bool lies_in(const fs::path& file, const fs::path& directory) {
  const auto [end, rest] = std::mismatch(directory.begin(), directory.end(), file.begin(), file.end());
  return end == directory.end();
}

/// The file at `location` beside `model`. A link to where the model itself is stored is followed,
/// as caches of models have them.
fs::path confined(const fs::path& model, const std::string& location, const std::string& place) {
  const fs::path below = fs::path(location).lexically_normal();
  std::error_code error;
  const fs::path directory = fs::absolute(model, error).parent_path();
  fs::path file = fs::weakly_canonical(directory / below, error);
  if (error) {
    io::refuse("{}: the external data '{}' cannot be opened: {}", place, io::printable(location), error.message());
  }
  const bool inside = lies_in(file, fs::weakly_canonical(directory, error)) ||
                      lies_in(file, fs::weakly_canonical(model, error).parent_path());
  if (location.empty() || below.is_absolute() || *below.begin() == ".." || !inside) {
    io::refuse("{}: the external data '{}' are outside of the directory of the model", place, io::printable(location));
  }
  if (fs::equivalent(file, model, error)) {
    io::refuse("{}: its external data are the model itself", place);
  }
  return file;
}

std::string_view map_file(const fs::path& path, const std::string& place) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto size = fs::file_size(path);
  void* const bytes = descriptor < 0 || size == 0
                          ? nullptr
                          : ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int problem = errno;
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  if (descriptor < 0 || bytes == MAP_FAILED) {
    io::refuse("{}: the external data '{}' cannot be read: {}", place, io::printable(path.filename().string()),
               std::strerror(problem));
  }
  io::announce_input(path);
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(bytes == nullptr ? 0 : size)};
}

}  // namespace

ModelBytes::ModelBytes(std::string model, std::filesystem::path path)
    : model_(std::move(model)), path_(std::move(path)) {}

ModelBytes::~ModelBytes() {
  for (const auto& [location, bytes] : files_) {
    if (!bytes.empty()) {
      ::munmap(const_cast<char*>(bytes.data()), bytes.size());
    }
  }
}

Model ModelBytes::parse(const std::string& name) {
  return parse_onnx(model_, name, [&](Tensor& tensor) { open(tensor, name); });
}

void ModelBytes::open(Tensor& tensor, const std::string& name) {
  const std::string place = name + ": " + io::printable(tensor.name);
  const External& external = *tensor.external;
  const std::string_view* const whole = file(external.location, place);
  if (whole == nullptr) {
    return;
  }
  const std::optional<std::uint64_t> wanted = bytes_of(tensor.type, tensor.dims);
  if (wanted && external.bytes && *wanted != *external.bytes) {
    io::refuse("{}: its extents need {} bytes, and its external data are {}", place, *wanted, *external.bytes);
  }
  const std::uint64_t left = whole->size() - std::min<std::uint64_t>(external.offset, whole->size());
  const std::uint64_t bytes = external.bytes ? *external.bytes : wanted.value_or(left);
  if (external.offset > whole->size() || bytes > left) {
    io::refuse("{}: {} bytes from byte {} on are beyond the {} bytes of '{}'", place, bytes, external.offset,
               whole->size(), io::printable(external.location));
  }
  set_elements(tensor, whole->substr(static_cast<std::size_t>(external.offset), static_cast<std::size_t>(bytes)));
}

const std::string_view* ModelBytes::file(const std::string& location, const std::string& place) {
  std::error_code error;
  if (path_.empty() || !fs::exists(path_, error)) {
    absent_.insert(location);
    return nullptr;
  }
  const auto found = files_.find(location);
  if (found != files_.end()) {
    return &found->second;
  }
  const fs::path path = confined(path_, location, place);
  if (!fs::exists(path, error)) {
    absent_.insert(location);
    return nullptr;
  }
  if (!fs::is_regular_file(path, error)) {
    io::refuse("{}: the external data '{}' are no regular file", place, io::printable(location));
  }
  return &files_.emplace(location, map_file(path, place)).first->second;
}

}  // namespace sptc::workload::onnx
