// SPDX-License-Identifier: Apache-2.0
#include "sim/check/kernel/kernel_tensors.h"

#include "models/base/text.h"
#include "models/numerics/codec.h"
#include "sim/io/npz.h"
#include "sim/io/tensor_layout.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace sptc::check::kernel {

using numerics::DataType;
using numerics::Word;

bool holds(std::string_view stored, DataType type) {
  const io::ElementType* const row = io::find_element_type(stored);
  const int bytes = std::max(1, numerics::storage_bits(type) / 8);
  if (row == nullptr || row->bytes != bytes) {
    return false;
  }
  const bool is_float = stored.starts_with("F") || stored.starts_with("BF");
  return !is_float || (stored == "F16" && type == DataType::kF16) ||
         (stored == "BF16" && type == DataType::kBf16) ||
         (stored == "F32" && (type == DataType::kF32 || type == DataType::kTf32));
}

KernelTensors::KernelTensors(std::filesystem::path directory, KernelChoice choice,
                             const std::vector<io::Tensor>* own)
    : directory_(std::move(directory)), choice_(std::move(choice)), own_(own) {}

void KernelTensors::choose_entry(const io::JsonObject& kernel) {
  constexpr std::int64_t kMostEntries = 1 << 24;
  entry_ = choice_.entry ? *choice_.entry : kernel.integer_or("entry", 0, 0, kMostEntries);
}

const std::vector<io::Tensor>& KernelTensors::tensors_of(const std::filesystem::path& path) const {
  const auto [found, is_new] = files_.try_emplace(path);
  if (is_new) {
    found->second =
        path.extension() == ".npz" ? io::read_npz(path) : io::TensorFile::open(path).tensors();
  }
  return found->second;
}

/// The tensors among which that of `entry` is.
const std::vector<io::Tensor>& KernelTensors::candidates(const io::JsonObject& entry,
                                                         bool is_d) const {
  if (is_d && !choice_.d.empty()) {
    return tensors_of(choice_.d);
  }
  return own_ != nullptr && !entry.has("file") ? *own_
                                               : tensors_of(directory_ / entry.text("file"));
}

io::Tensor KernelTensors::tensor(const io::JsonObject& entry, bool is_d) const {
  const std::vector<io::Tensor>& tensors = candidates(entry, is_d);
  const bool is_other_d = is_d && !choice_.d.empty();
  if (tensors.size() == 1 && (is_other_d || !entry.has("tensor"))) {
    return tensors.front();
  }
  if (!entry.has("tensor")) {
    entry.place().fail("the file holds several tensors: \"tensor\" names one of them");
  }
  const std::string name = entry.text("tensor");
  std::vector<std::string_view> names;
  for (const io::Tensor& candidate : tensors) {
    if (candidate.name == name) {
      return candidate;
    }
    names.emplace_back(candidate.name);
  }
  if (is_d && &tensors == own_) {
    entry.place().fail("D is not in this file: --d names the file with the D of your kernel");
  }
  (entry.place() / "tensor")
      .fail("unknown tensor " + base::unknown_name(io::printable(name), names));
}

/// The matrix of `entry` of a batch.
void KernelTensors::take_entry(io::Tensor& tensor, const io::JsonObject& entry) const {
  const std::int64_t count = tensor.shape.front();
  if (entry_ >= count) {
    entry.place().fail(fmt::format("there is no entry {} in a batch of {}", entry_, count));
  }
  const std::size_t bytes = tensor.bytes.size() / static_cast<std::size_t>(count);
  const auto first = tensor.bytes.begin() + static_cast<std::ptrdiff_t>(bytes) * entry_;
  tensor.bytes = {first, first + static_cast<std::ptrdiff_t>(bytes)};
  tensor.shape.erase(tensor.shape.begin());
}

StoredMatrix KernelTensors::matrix(const io::JsonObject& entry, DataType type, bool is_d) {
  io::Tensor stored = tensor(entry, is_d);
  const auto shown = [&] { return io::printable(entry.text_or("file", stored.name)); };
  if (stored.shape.size() == 3 && stored.shape.front() > 0) {
    take_entry(stored, entry);
    is_batch_ = true;
  }
  if (stored.shape.size() != 2 || stored.shape[0] == 0 || stored.shape[1] == 0) {
    entry.place().fail(fmt::format("{}: must have two axes that are not empty, not [{}]", shown(),
                                   fmt::join(stored.shape, ", ")));
  }
  if (!holds(stored.dtype, type)) {
    entry.place().fail(fmt::format("{}: elements are {}, which cannot be the bits of {}", shown(),
                                   stored.dtype, numerics::name(type)));
  }
  StoredMatrix result;
  result.column_major =
      entry.choice("order", std::array<std::string_view, 2>{"row", "column"}) == 1;
  result.rows = static_cast<std::size_t>(stored.shape[result.column_major ? 1 : 0]);
  result.cols = static_cast<std::size_t>(stored.shape[result.column_major ? 0 : 1]);
  const std::size_t count = result.rows * result.cols;
  const std::size_t bytes = stored.bytes.size() / count;
  result.words.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    // The low bytes come first on a little-endian machine.
    std::memcpy(&result.words[i], stored.bytes.data() + i * bytes, bytes);
    if (numerics::storage_bits(type) < 8) {
      result.words[i] &= (Word{1} << numerics::storage_bits(type)) - 1;
    }
  }
  return result;
}

io::Tensor KernelTensors::metadata(const io::JsonObject& entry) const {
  io::Tensor stored = tensor(entry);
  if (is_batch_ && stored.shape.size() == 3 && stored.shape.front() > 0) {
    take_entry(stored, entry);
  }
  return stored;
}

}  // namespace sptc::check::kernel
