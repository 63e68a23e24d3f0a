// SPDX-License-Identifier: Apache-2.0
// The ZIP format: APPNOTE.TXT of PKWARE, sections 4.3.7 (local header), 4.3.12 (central directory)
// and 4.3.16 (its end).
#include "sim/io/npz.h"

#include "models/base/error.h"
#include "sim/io/memory_guard.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <sstream>
#include <string_view>
#include <zlib.h>

namespace sptc::io {
namespace {

constexpr std::uint64_t kMaxArchive = std::uint64_t{1} << 36;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr std::size_t kMaxComment = 65535;
constexpr std::string_view kLocalMark = "PK\x03\x04", kCentralMark = "PK\x01\x02",
                           kEndMark = "PK\x05\x06";
constexpr std::uint64_t kStored = 0, kDeflated = 8;
constexpr std::string_view kExtension = ".npy";

/// A ZIP archive in memory.
class Archive {
 public:
  Archive(std::string_view bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  std::vector<Tensor> arrays() const {
    const std::vector<Entry> entries = directory();
    require_apart(entries);
    require_room(entries);
    std::vector<Tensor> result;
    for (const Entry& entry : entries) {
      if (entry.name.ends_with(kExtension)) {
        result.push_back(array(entry));
      }
    }
    return result;
  }

 private:
  /// A member, as the directory at the end has it.
  struct Entry {
    std::string name;
    std::size_t begin = 0;             ///< of its header
    std::size_t data = 0, packed = 0;  ///< first byte and bytes
    std::uint64_t size = 0;            ///< unpacked
    std::uint64_t method = 0, sum = 0;

    std::size_t end() const { return data + packed; }
  };

  std::vector<Entry> directory() const {
    const std::size_t end = end_of_directory();
    const std::uint64_t count = number(end + 10, 2);
    std::vector<Entry> entries;
    std::size_t at = number(end + 16, 4);
    for (std::uint64_t i = 0; i < count; ++i) {
      require(at, kCentralBytes, kCentralMark);
      const std::size_t name_bytes = number(at + 28, 2);
      entries.push_back(entry(at, std::string(slice(at + kCentralBytes, name_bytes))));
      at += kCentralBytes + name_bytes + number(at + 30, 2) + number(at + 32, 2);
    }
    return entries;
  }

  /// Throws InputError where a byte belongs to two members or to one and the directory, or two have
  /// one name.
  void require_apart(const std::vector<Entry>& entries) const {
    std::vector<const Entry*> order;
    std::set<std::string_view> names;
    for (const Entry& entry : entries) {
      order.push_back(&entry);
      if (!names.insert(entry.name).second) {
        fail(fmt::format("two members are called '{}'", printable(entry.name)));
      }
    }
    std::stable_sort(order.begin(), order.end(), [](const Entry* left, const Entry* right) {
      return left->begin < right->begin;
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (order[i]->begin < order[i - 1]->end()) {
        fail(fmt::format("the members '{}' and '{}' overlap", printable(order[i - 1]->name),
                         printable(order[i]->name)));
      }
    }
    if (!order.empty() && order.back()->end() > number(end_of_directory() + 16, 4)) {
      fail(fmt::format("the member '{}' overlaps the directory", printable(order.back()->name)));
    }
  }

  /// Throws InputError where the arrays together take more memory than there is, or unpack to more
  /// than weights can.
  void require_room(const std::vector<Entry>& entries) const {
    constexpr std::uint64_t kSmall = std::uint64_t{256} << 20, kMostRatio = 200;
    std::uint64_t sum = 0, largest = 0;
    for (const Entry& entry : entries) {
      sum += entry.size;
      largest = std::max(largest, entry.size);
    }
    if (sum > kSmall && sum / kMostRatio > bytes_.size()) {
      fail(fmt::format("its {} members unpack to {} bytes, more than {} times the file",
                       entries.size(), sum, kMostRatio));
    }
    require_memory(sum + largest, file_);
  }

  std::size_t end_of_directory() const {
    const std::size_t most = kEndBytes + kMaxComment;
    const std::size_t first = bytes_.size() > most ? bytes_.size() - most : 0;
    const std::size_t found = bytes_.rfind(kEndMark);
    if (found == std::string_view::npos || found < first || bytes_.size() - found < kEndBytes) {
      fail("is no whole ZIP archive");
    }
    return found;
  }

  /// The member whose entry of the central directory is at `at`.
  Entry entry(std::size_t at, std::string name) const {
    const std::uint64_t packed = number(at + 20, 4), size = number(at + 24, 4);
    const std::size_t local = number(at + 42, 4);
    if ((number(at + 8, 2) & 1) != 0 || std::max(packed, size) == 0xFFFFFFFF) {
      fail("holds an encrypted member or one of 4 GiB or more, which are not read");
    }
    require(local, kLocalBytes, kLocalMark);
    const std::size_t data = local + kLocalBytes + number(local + 26, 2) + number(local + 28, 2);
    slice(data, packed);
    return {std::move(name), local, data, packed, size, number(at + 10, 2), number(at + 16, 4)};
  }

  Tensor array(const Entry& entry) const {
    const std::string shown = file_ + ": " + printable(entry.name);
    std::string text = unpacked(slice(entry.data, entry.packed), entry.size, entry.method, shown);
    if (::crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()) != entry.sum) {
      throw base::InputError(shown + ": the checksum is wrong");
    }
    std::istringstream stream(std::move(text));
    Tensor tensor = TensorFile::read_npy(stream, entry.size, shown).tensors().front();
    tensor.name = entry.name.substr(0, entry.name.size() - kExtension.size());
    return tensor;
  }

  static std::string unpacked(std::string_view bytes, std::uint64_t size, std::uint64_t method,
                              const std::string& shown) {
    if (method == kStored && bytes.size() == size) {
      return std::string(bytes);
    }
    // A size that deflation cannot reach is refused before memory is taken.
    constexpr std::uint64_t kMostPerByte = 1032;
    const bool may_be = method == kDeflated && size / kMostPerByte <= bytes.size();
    std::string text(may_be ? size : 0, '\0');
    z_stream stream{};
    bool whole = may_be && ::inflateInit2(&stream, -MAX_WBITS) == Z_OK;
    if (whole) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(bytes.size());
      stream.next_out = reinterpret_cast<Bytef*>(text.data());
      stream.avail_out = static_cast<uInt>(size);
      whole = ::inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == size;
      ::inflateEnd(&stream);
    }
    if (!whole) {
      throw base::InputError(shown + ": cannot be unpacked; stored and deflated members are read");
    }
    return text;
  }

  void require(std::size_t at, std::size_t bytes, std::string_view mark) const {
    if (!slice(at, bytes).starts_with(mark)) {
      fail(fmt::format("has no header of a ZIP archive at byte {}", at));
    }
  }
  std::string_view slice(std::size_t at, std::size_t bytes) const {
    if (at > bytes_.size() || bytes > bytes_.size() - at) {
      fail("ends inside a member");
    }
    return bytes_.substr(at, bytes);
  }
  std::uint64_t number(std::size_t at, std::size_t bytes) const {
    return little_endian(std::as_bytes(std::span(slice(at, bytes))));
  }
  [[noreturn]] void fail(std::string_view problem) const {
    throw base::InputError(fmt::format("{}: {}", file_, problem));
  }

  std::string_view bytes_;
  std::string file_;
};

std::string little(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    text += static_cast<char>((value >> (8 * i)) & 0xFF);
  }
  return text;
}

/// Whether `name` is UTF-8 and not ASCII.
bool needs_utf8(const std::string& name) {
  const bool is_ascii = std::all_of(name.begin(), name.end(),
                                    [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  try {
    return !is_ascii && !nlohmann::json(name).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

/// Version 2.0, stored, 1 January 1980. Readers take a name without the flag for code page 437.
std::string common_fields(const std::string& name) {
  constexpr std::uint64_t kUtf8 = 0x0800;
  return little(20, 2) + little(needs_utf8(name) ? kUtf8 : 0, 2) + little(kStored, 2) +
         little(0x00210000, 4);
}

/// One array as a member of an archive.
struct Member {
  std::string head;   ///< before the data
  std::string data;   ///< a whole .npy file
  std::string entry;  ///< of the directory at the end
};

/// The name of a member; its length has 16 bits.
std::string member_name(const Tensor& tensor) {
  std::string name = tensor.name + std::string(kExtension);
  constexpr std::size_t kMostBytes = std::numeric_limits<std::uint16_t>::max();
  if (name.size() > kMostBytes) {
    throw base::InputError(fmt::format(
        "'{}': the name has {} bytes, but an array of a .npz file has a name of at most {} bytes",
        printable(tensor.name), tensor.name.size(), kMostBytes - kExtension.size()));
  }
  return name;
}

/// The `index`-th member, at byte `offset`.
Member member_of(const Tensor& tensor, std::uint64_t offset, std::size_t index) {
  Member member;
  member.data = npy_bytes(tensor);
  const std::string name = member_name(tensor);
  const std::string common = common_fields(name);
  const auto sum =
      ::crc32_z(0, reinterpret_cast<const Bytef*>(member.data.data()), member.data.size());
  const std::string sizes = little(sum, 4) + little(member.data.size(), 4) +
                            little(member.data.size(), 4) + little(name.size(), 2) + little(0, 2);
  member.head = std::string(kLocalMark) + common + sizes + name;
  member.entry = std::string(kCentralMark) + little(20, 2) + common + sizes + little(0, 2) +
                 little(0, 4) + little(0, 4) + little(offset, 4) + name;
  if (offset + member.head.size() + member.data.size() >
          std::numeric_limits<std::uint32_t>::max() ||
      index >= std::numeric_limits<std::uint16_t>::max()) {
    throw base::InputError(
        "a .npz file of 4 GiB or more is not written; .safetensors has no limit");
  }
  return member;
}

std::string end_of(std::size_t count, std::size_t directory_bytes, std::uint64_t offset) {
  return std::string(kEndMark) + little(0, 4) + little(count, 2) + little(count, 2) +
         little(directory_bytes, 4) + little(offset, 4) + little(0, 2);
}

}  // namespace

std::vector<Tensor> read_npz(const std::filesystem::path& path) {
  const std::string bytes = read_text_file(path, kMaxArchive);
  return Archive(bytes, printable(path.string())).arrays();
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
