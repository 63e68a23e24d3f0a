// SPDX-License-Identifier: Apache-2.0
// The safetensors format: https://github.com/huggingface/safetensors, "Format".
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/json_reader.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <limits>
#include <set>

namespace sptc::io {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

/// What the header says of one tensor, checked against itself.
struct Entry {
  Tensor tensor;  ///< without bytes
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

void check_metadata(const JsonObject& metadata) {
  for (const auto& [key, value] : metadata.value().items()) {
    if (!value.is_string()) {
      (metadata.place() / key).fail(fmt::format("must be a string, not {}", describe(value)));
    }
  }
}

Entry read_entry(const std::string& name, const JsonObject& object) {
  constexpr std::string_view kKeys[] = {"dtype", "shape", "data_offsets"};
  object.allow_only(kKeys);
  const std::string dtype = object.text("dtype");
  const ElementType* const type = find_element_type(dtype);
  if (type == nullptr) {
    std::vector<std::string_view> names;
    for (const ElementType& known : element_types()) {
      names.push_back(known.name);
    }
    (object.place() / "dtype").fail("unknown dtype " + base::unknown_name(printable(dtype), names));
  }
  Entry entry;
  entry.tensor.name = name;
  entry.tensor.dtype = dtype;
  const json& shape = object.require("shape");
  if (!shape.is_array()) {
    (object.place() / "shape").fail(fmt::format("must be an array, not {}", describe(shape)));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    entry.tensor.shape.push_back(to_integer(shape[i], object.place() / "shape" / i, 0, kMaxInt64));
  }
  const json& offsets = object.array("data_offsets");
  const JsonPlace place = object.place() / "data_offsets";
  if (offsets.size() != 2) {
    place.fail(fmt::format("must have 2 elements, not {}", offsets.size()));
  }
  entry.begin = to_integer(offsets[0], place / 0, 0, kMaxInt64);
  entry.end = to_integer(offsets[1], place / 1, entry.begin, kMaxInt64);
  const std::optional<std::int64_t> bytes = packed_bytes(entry.tensor.shape, type->bytes);
  if (!bytes || *bytes != entry.end - entry.begin) {
    place.fail(fmt::format("spans {} bytes, but shape and dtype need {}", entry.end - entry.begin,
                           bytes ? std::to_string(*bytes) : "more than 64 bits can count"));
  }
  return entry;
}

/// The format wants the tensors to cover the data without overlap and without holes.
void check_coverage(const std::vector<Entry>& entries, std::int64_t data_bytes,
                    const std::string& file) {
  std::int64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != covered) {
      throw base::InputError(fmt::format(
          "{}: tensor '{}' starts at byte {} of the data, but {} at byte {}", file,
          printable(entry.tensor.name), entry.begin,
          entry.begin < covered ? "the one before it ends" : "no tensor covers what starts",
          covered));
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    throw base::InputError(fmt::format("{}: the tensors need {} bytes of data, but the file has {}",
                                       file, covered, data_bytes));
  }
}

std::vector<Entry> read_header(const std::vector<std::byte>& bytes, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with('{')) {
    throw base::InputError(file + ": the safetensors header must start with '{'");
  }
  const json document = parse_json(text, file + ": header");
  const JsonObject header(document, {file + ": header", ""});
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.value().items()) {
    const JsonObject object(value, header.place() / name);
    if (name == "__metadata__") {
      check_metadata(object);
    } else {
      entries.push_back(read_entry(name, object));
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& left, const Entry& right) {
    return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
  });
  return entries;
}

}  // namespace

TensorFile TensorFile::read_safetensors(std::istream& stream, std::uint64_t size,
                                        const std::string& file) {
  if (size < kLengthBytes) {
    throw base::InputError(
        fmt::format("{}: {} bytes are too few for a safetensors file", file, size));
  }
  const std::uint64_t header_bytes = little_endian(read_bytes(stream, kLengthBytes, file));
  if (header_bytes > std::min(kMaxHeaderBytes, size - kLengthBytes)) {
    throw base::InputError(fmt::format(
        "{}: says that its header has {} bytes, but {} follow and at most {} are allowed", file,
        header_bytes, size - kLengthBytes, kMaxHeaderBytes));
  }
  std::vector<Entry> entries = read_header(read_bytes(stream, header_bytes, file), file);
  check_coverage(entries, static_cast<std::int64_t>(size - kLengthBytes - header_bytes), file);

  TensorFile result;
  result.file_ = file;
  for (Entry& entry : entries) {
    entry.tensor.bytes =
        read_bytes(stream, static_cast<std::uint64_t>(entry.end - entry.begin), file);
    result.tensors_.push_back(std::move(entry.tensor));
  }
  return result;
}

void write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::string data;
  for (const Tensor& tensor : tensors) {
    base::ensure(!header.contains(tensor.name), "two tensors of one name in a safetensors file");
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // readers that map the file want aligned data
  std::string length(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length[i] = static_cast<char>((text.size() >> (8 * i)) & 0xFF);
  }
  write_file(path, length + text + data);
}

}  // namespace sptc::io
