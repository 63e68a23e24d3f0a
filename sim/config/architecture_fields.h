// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"

#include <span>
#include <string_view>

namespace sptc::config {

/// One number of an architecture file: where it stands, what it may be, and the field of GpuSpec
/// that it fills. Which ones a file may leave out: sim/config/common_numbers.h.
struct ArchitectureField {
  std::string_view section;  ///< JSON pointer of the object that holds it: "", "/sm", "/sm/tensor_core"
  std::string_view key;      ///< the field's name; ends with the unit
  bool integer;
  double max;                ///< the largest that is allowed
  std::string_view meaning;  ///< one line, for `arch show`
  void (*store)(gpu::GpuSpec&, double);
  bool may_be_zero = false;  ///< 0: the architecture has no such thing
  double least = 0;          ///< the least that is allowed, where it is not that of its kind

  double min() const { return may_be_zero ? 0 : least > 0 ? least : integer ? 1 : 0.001; }
};

/// All numbers, in the order of the fields of GpuSpec, SmSpec and TensorCoreSpec.
std::span<const ArchitectureField> architecture_fields();

/// The number at the JSON pointer `pointer` of a file; null where none stands there.
const ArchitectureField* find_architecture_field(std::string_view pointer);

/// The unit that the key's ending names: "cycles", "bytes", "bytes/cycle", "MHz"; empty for a
/// count.
std::string_view unit_of(std::string_view key);

}  // namespace sptc::config
