// SPDX-License-Identifier: Apache-2.0
// What is written follows APPNOTE.TXT of PKWARE, sections 4.3.7 (local header), 4.3.12 (central
// directory) and 4.3.16 (its end).
#include "sim/io/npz.h"

#include "models/base/error.h"
#include "sim/io/archive.h"
#include "sim/io/file_use.h"
#include "sim/io/memory_guard.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <zlib.h>

namespace sptc::io {
namespace {

constexpr std::string_view kLocalMark = "PK\x03\x04", kCentralMark = "PK\x01\x02", kEndMark = "PK\x05\x06";
constexpr std::uint64_t kStored = 0;
constexpr std::string_view kExtension = ".npy";

bool needs_utf8(const std::string& name) {
  const bool is_ascii =
      std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  try {
    return !is_ascii && !nlohmann::json(name).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// Version 2.0, stored, 1 January 1980. Readers take a name without the flag for code page 437.
std::string common_fields(const std::string& name) {
  constexpr std::uint64_t kUtf8 = 0x0800;
  return little_endian(20, 2) + little_endian(needs_utf8(name) ? kUtf8 : 0, 2) + little_endian(kStored, 2) +
         little_endian(0x00210000, 4);
}

/// One array as a member of an archive.
struct Member {
  std::string head;   ///< before the data
  std::string data;   ///< a whole .npy file
  std::string entry;  ///< of the directory at the end
};

std::string member_name(const Tensor& tensor) {
  std::string name = tensor.name + std::string(kExtension);
  constexpr std::size_t kMostBytes = std::numeric_limits<std::uint16_t>::max();
  if (name.size() > kMostBytes) {
    refuse("'{}': the name has {} bytes, but an array of a .npz file has a name of at most {} bytes",
           printable(tensor.name), tensor.name.size(), kMostBytes - kExtension.size());
  }
  return name;
}

Member member_of(const Tensor& tensor, std::uint64_t offset, std::size_t index) {
  Member member;
  member.data = npy_bytes(tensor);
  const std::string name = member_name(tensor);
  const std::string common = common_fields(name);
  const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(member.data.data()), member.data.size());
  const std::string sizes = little_endian(sum, 4) + little_endian(member.data.size(), 4) +
                            little_endian(member.data.size(), 4) + little_endian(name.size(), 2) + little_endian(0, 2);
  member.head = std::string(kLocalMark) + common + sizes + name;
  member.entry = std::string(kCentralMark) + little_endian(20, 2) + common + sizes + little_endian(0, 2) +
                 little_endian(0, 4) + little_endian(0, 4) + little_endian(offset, 4) + name;
  if (offset + member.head.size() + member.data.size() > std::numeric_limits<std::uint32_t>::max() ||
      index >= std::numeric_limits<std::uint16_t>::max()) {
    throw base::InputError("a .npz file of 4 GiB or more is not written; .safetensors has no limit");
  }
  return member;
}

std::string end_of(std::size_t count, std::size_t directory_bytes, std::uint64_t offset) {
  return std::string(kEndMark) + little_endian(0, 4) + little_endian(count, 2) + little_endian(count, 2) +
         little_endian(directory_bytes, 4) + little_endian(offset, 4) + little_endian(0, 2);
}

/// A bound beyond what weights deflate to.
constexpr UnpackBound kUnpackBound{std::uint64_t{256} << 20, 200};

/// Throws InputError where the arrays together take more memory than there is, unpack to more than
/// the bound, or two have one name.
void require_room(const std::filesystem::path& path, const std::string& file) {
  std::uint64_t sum = 0, largest = 0;
  std::set<std::string> names;
  Archive archive(path, kUnpackBound);
  while (const std::optional<Archive::Member> member = archive.next()) {
    sum += member->bytes;
    largest = std::max(largest, member->bytes);
    if (!names.insert(member->name).second) {
      refuse("{}: two members are called '{}'", file, printable(member->name));
    }
  }
  require_memory(sum + largest, file);
}

}  // namespace

std::vector<Tensor> read_npz(const std::filesystem::path& path) {
  open_tensors(path);
  announce_input(path);
  const std::string file = printable(path.string());
  require_room(path, file);
  Archive archive(path, kUnpackBound);
  std::vector<Tensor> result;
  while (const std::optional<Archive::Member> member = archive.next()) {
    if (member->name.ends_with(kExtension)) {
      const std::string shown = file + ": " + printable(member->name);
      std::istringstream stream(archive.contents(member->bytes));
      Tensor tensor = TensorFile::read_npy(stream, member->bytes, shown).tensors().front();
      tensor.name = member->name.substr(0, member->name.size() - kExtension.size());
      result.push_back(std::move(tensor));
    }
  }
  return result;
}

std::string npz_bytes(std::span<const Tensor> tensors) {
  std::string archive, directory;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Member member = member_of(tensors[i], archive.size(), i);
    archive += member.head + member.data;
    directory += member.entry;
  }
  return archive + directory + end_of(tensors.size(), directory.size(), archive.size());
}

void NpzWriter::add(const Tensor& tensor) {
  const Member member = member_of(tensor, file_.size(), count_++);
  file_.write(member.head);
  file_.write(member.data);
  directory_ += member.entry;
}

void NpzWriter::commit() {
  const std::uint64_t offset = file_.size();
  file_.write(directory_);
  file_.write(end_of(count_, directory_.size(), offset));
  file_.commit();
}

}  // namespace sptc::io
