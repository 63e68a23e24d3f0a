// SPDX-License-Identifier: Apache-2.0
// The safetensors format: https://github.com/huggingface/safetensors, "Format".
#include "models/base/error.h"
#include "sim/io/json_reader.h"
#include "sim/io/tensor_file.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <istream>
#include <limits>
#include <map>
#include <utility>

namespace sptc::io {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

std::map<std::string, std::string> read_metadata(const JsonObject& metadata) {
  std::map<std::string, std::string> words;
  for (const auto& [key, value] : metadata.value().items()) {
    if (!value.is_string()) {
      (metadata.place() / key).fail("must be a string, not {}", describe(value));
    }
    words[key] = value.get<std::string>();
  }
  return words;
}

/// An entry with its offset in the data. Of a type that is not known here only the place is read: a
/// file of many tensors may have one.
TensorEntry read_entry(const std::string& name, const JsonObject& object) {
  object.allow_only({"dtype", "shape", "data_offsets"});
  const std::string dtype = object.text("dtype");
  const ElementType* const type = find_element_type(dtype);
  TensorEntry entry;
  entry.name = name;
  entry.dtype = dtype;
  const json& shape = object.require("shape");
  if (!shape.is_array()) {
    (object.place() / "shape").fail("must be an array, not {}", describe(shape));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    entry.shape.push_back(to_integer(shape[i], object.place() / "shape" / i, 0, kMaxInt64));
  }
  const json& offsets = object.array("data_offsets");
  const JsonPlace place = object.place() / "data_offsets";
  if (offsets.size() != 2) {
    place.fail("must have 2 elements, not {}", offsets.size());
  }
  const std::int64_t begin = to_integer(offsets[0], place / 0, 0, kMaxInt64);
  const std::int64_t end = to_integer(offsets[1], place / 1, begin, kMaxInt64);
  const std::optional<std::int64_t> bytes =
      type == nullptr ? std::optional(end - begin) : packed_bytes(entry.shape, type->bytes);
  if (!bytes || *bytes != end - begin) {
    place.fail("spans {} bytes, but shape and dtype need {}", end - begin,
               bytes ? std::to_string(*bytes) : "more than 64 bits can count");
  }
  entry.offset = static_cast<std::uint64_t>(begin);
  entry.bytes = static_cast<std::uint64_t>(end - begin);
  return entry;
}

/// The format wants the tensors to cover the data without overlap and without holes.
void check_coverage(const std::vector<TensorEntry>& entries, std::uint64_t data_bytes, const std::string& file) {
  std::uint64_t covered = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.offset != covered) {
      refuse("{}: tensor '{}' starts at byte {} of the data, but {} at byte {}", file, printable(entry.name),
             entry.offset, entry.offset < covered ? "the one before it ends" : "no tensor covers what starts", covered);
    }
    covered = entry.offset + entry.bytes;
  }
  if (covered != data_bytes) {
    refuse("{}: the tensors need {} bytes of data, but the file has {}", file, covered, data_bytes);
  }
}

SafetensorsHeader parse_header(const std::vector<std::byte>& bytes, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with('{')) {
    throw base::InputError(file + ": the safetensors header must start with '{'");
  }
  const json document = parse_json(text, file + ": header");
  const JsonObject header(document, {file + ": header", ""});
  SafetensorsHeader result;
  for (const auto& [name, value] : header.value().items()) {
    const JsonObject object(value, header.place() / name);
    if (name == "__metadata__") {
      result.metadata = read_metadata(object);
    } else {
      result.entries.push_back(read_entry(name, object));
    }
  }
  std::stable_sort(result.entries.begin(), result.entries.end(), [](const TensorEntry& left, const TensorEntry& right) {
    return std::pair(left.offset, left.bytes) < std::pair(right.offset, right.bytes);
  });
  return result;
}

}  // namespace

SafetensorsHeader read_safetensors_header(std::istream& stream, std::uint64_t size, const std::string& file) {
  if (size < kLengthBytes) {
    refuse("{}: {} bytes are too few for a safetensors file", file, size);
  }
  const std::uint64_t header_bytes = little_endian(read_bytes(stream, kLengthBytes, file));
  if (header_bytes > std::min(kMaxHeaderBytes, size - kLengthBytes)) {
    refuse("{}: says that its header has {} bytes, but {} follow and at most {} are allowed", file, header_bytes,
           size - kLengthBytes, kMaxHeaderBytes);
  }
  SafetensorsHeader header = parse_header(read_bytes(stream, header_bytes, file), file);
  const std::uint64_t data = kLengthBytes + header_bytes;
  check_coverage(header.entries, size - data, file);
  for (TensorEntry& entry : header.entries) {
    entry.offset += data;
  }
  return header;
}

std::map<std::string, std::string> parse_metadata(std::string_view text, const std::string& place) {
  const json document = parse_json(text, place);
  return read_metadata(JsonObject(document, {place, ""}));
}

std::string safetensors_head(std::span<const TensorEntry> entries, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  std::uint64_t begin = 0;
  for (const TensorEntry& entry : entries) {
    if (header.contains(entry.name)) {
      refuse("two tensors of a safetensors file are called '{}'", printable(entry.name));
    }
    header[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {begin, begin + entry.bytes}}};
    begin += entry.bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    throw base::InputError("a name of a tensor of a safetensors file must be UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // readers that map the file want aligned data
  return little_endian(text.size(), kLengthBytes) + text;
}

TensorFile TensorFile::read_safetensors(std::istream& stream, std::uint64_t size, const std::string& file) {
  TensorFile result;
  result.file_ = file;
  for (TensorEntry& entry : read_safetensors_header(stream, size, file).entries) {
    result.tensors_.push_back(
        {std::move(entry.name), std::move(entry.dtype), std::move(entry.shape), read_bytes(stream, entry.bytes, file)});
  }
  return result;
}

void write_safetensors(const std::filesystem::path& path, std::span<const Tensor> tensors) {
  std::vector<TensorEntry> entries;
  std::string data;
  for (const Tensor& tensor : tensors) {
    entries.push_back({tensor.name, tensor.dtype, tensor.shape, 0, tensor.bytes.size()});
    data.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  write_file(path, safetensors_head(entries) + data);
}

}  // namespace sptc::io
