// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/vector_operation.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sptc::workload {

struct Recorded;

/// What a library does with D before it is stored.
struct Epilogue {
  std::vector<VectorKind> operations;
  bool reads_tensor = false, writes_tensor = false;  ///< one more of the size and type of D
  bool reads_mask = false, writes_mask = false;      ///< one bit for each element of D
};

/// That of cuBLASLt's EPILOGUE_`name`: "GELU_AUX_BIAS"; "" and "DEFAULT" do nothing. Nothing where
/// the name has other parts.
std::optional<Epilogue> parse_epilogue(std::string_view name);

/// That of a recorded launch: what its name says, as far as it is known, and the sum with C.
Epilogue epilogue_of(const Recorded& recorded);

/// What `operations` cost for an element of D, in slots of instructions: a result of the special
/// function units takes as many as there are lanes for each of theirs.
double epilogue_operations(std::span<const VectorKind> operations);

}  // namespace sptc::workload
