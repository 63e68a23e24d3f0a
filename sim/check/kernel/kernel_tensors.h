// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"
#include "sim/check/kernel/kernel_file.h"
#include "sim/check/kernel/kernel_model.h"
#include "sim/io/json_reader.h"
#include "sim/io/tensor_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::check::kernel {

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

}  // namespace sptc::check::kernel
