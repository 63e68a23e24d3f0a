// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/vectors/bit_array.h"
#include "sim/check/vectors/metadata_input.h"
#include "sim/check/vectors/mma_batch.h"

#include <optional>
#include <string>

namespace sptc::cli {

/// Operands of a matrix instruction in .npy files, as typed; an empty name stands for no file.
struct OperandFiles {
  std::string a, b, c;
  std::string metadata;
  std::string layout = "canonical";
  std::string selector = "0";

  /// A, B, and C where it is given. Throws InputError.
  check::vectors::MmaOperands read() const;
  std::optional<check::vectors::MetadataInput> read_metadata() const;
  /// The selector, from 0 to 3. Throws InputError.
  int parsed_selector() const;
};

/// An array whose first axis is the case; a matrix stands for a batch of one. Throws InputError.
check::vectors::BitArray read_batch(const std::string& file);

}  // namespace sptc::cli
