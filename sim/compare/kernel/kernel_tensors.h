// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/text.h"
#include "models/numerics/data_type.h"
#include "sim/compare/kernel/kernel_file.h"
#include "sim/compare/kernel/kernel_model.h"
#include "sim/io/json_reader.h"
#include "sim/io/tensor_file.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::compare::kernel {

/// The tensors that the objects of a kernel file name: {"file": "a.npy", "tensor": "a"}. Everything
/// throws InputError at the place of the object.
class KernelTensors {
 public:
  /// Files are looked for in `directory`. `own`: tensors that need no file.
  KernelTensors(std::filesystem::path directory, KernelChoice choice,
                const std::vector<io::Tensor>* own = nullptr);

  /// Takes "entry" of a kernel file, unless the caller chose one.
  void choose_entry(const io::JsonObject& kernel);

  /// The whole tensor.
  io::Tensor tensor(const io::JsonObject& entry, bool is_d = false) const;
  /// The same, of a batch the chosen entry. Call it after matrix() told whether there is a batch.
  io::Tensor metadata(const io::JsonObject& entry) const;
  /// A matrix as words of `type`; "order" "column": the file holds the transpose.
  StoredMatrix matrix(const io::JsonObject& entry, numerics::DataType type, bool is_d = false);

 private:
  const std::vector<io::Tensor>& tensors_of(const std::filesystem::path& path) const;
  const std::vector<io::Tensor>& candidates(const io::JsonObject& entry, bool is_d) const;
  void take_entry(io::Tensor& tensor, const io::JsonObject& entry) const;

  std::filesystem::path directory_;
  KernelChoice choice_;
  const std::vector<io::Tensor>* own_;
  std::int64_t entry_ = 0;
  bool is_batch_ = false;
  mutable std::map<std::filesystem::path, std::vector<io::Tensor>> files_;
};

/// Whether an element called `stored` in a tensor file can hold the bits of `type`.
bool holds(std::string_view stored, numerics::DataType type);

/// The index of the text at `key` among `names`; 0 where the key is absent.
template <std::size_t kCount>
std::size_t choice(const io::JsonObject& object, std::string_view key,
                   const std::array<std::string_view, kCount>& names) {
  if (!object.has(key)) {
    return 0;
  }
  const std::string word = object.text(key);
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) {
    (object.place() / key).fail("must be one of " + base::unknown_name(io::printable(word), names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace sptc::compare::kernel
