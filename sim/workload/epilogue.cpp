// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/epilogue.h"

#include "sim/workload/workload.h"

#include <algorithm>

namespace sptc::workload {
namespace {

/// Adds what `part` of a name says; false where it is not known. Derivatives read what the forward
/// pass wrote: the mask of a ReLU, or what went into a GELU.
bool add_part(std::string_view part, Epilogue& epilogue) {
  if (part == "RELU" || part == "DRELU") {
    epilogue.operations.push_back(VectorKind::kRelu);
    epilogue.reads_mask = part == "DRELU";
  } else if (part == "GELU" || part == "DGELU") {
    epilogue.operations.push_back(VectorKind::kGelu);
    epilogue.reads_tensor = part == "DGELU";
  } else if (part == "SWISH") {  // of hipBLASLt
    epilogue.operations.push_back(VectorKind::kSilu);
  } else if (part == "SIGMOID") {
    epilogue.operations.push_back(VectorKind::kSigmoid);
  } else if (part == "BIAS" || part == "BGRAD") {
    epilogue.operations.push_back(VectorKind::kBias);
  } else {
    // The sum of a column of A or B is that of the main loop's operands.
    return part == "DEFAULT" || part == "BGRADA" || part == "BGRADB";
  }
  return true;
}

}  // namespace

std::optional<Epilogue> parse_epilogue(std::string_view name) {
  Epilogue epilogue;
  bool auxiliary = false;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('_'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    auxiliary = auxiliary || part == "AUX";
    if (part != "AUX" && !add_part(part, epilogue)) {
      return std::nullopt;
    }
  }
  const bool mask = std::find(epilogue.operations.begin(), epilogue.operations.end(),
                              VectorKind::kRelu) != epilogue.operations.end();
  epilogue.writes_mask = auxiliary && mask;
  epilogue.writes_tensor = auxiliary && !mask;
  return epilogue;
}

Epilogue epilogue_of(const Recorded& recorded) {
  Epilogue epilogue = parse_epilogue(recorded.epilogue).value_or(Epilogue{});
  if (recorded.adds_c) {
    epilogue.operations.push_back(VectorKind::kResidual);
    epilogue.reads_tensor = true;
  }
  return epilogue;
}

double epilogue_operations(std::span<const VectorKind> operations) {
  constexpr double kSlotsOfSpecial = 8;  // 128 lanes are issued in a cycle, 16 of those have units
  double instructions = 0, special = 0;
  for (const VectorKind kind : operations) {
    instructions += info(kind).instructions;
    special += info(kind).special;
  }
  return std::max(instructions, kSlotsOfSpecial * special);
}

}  // namespace sptc::workload
