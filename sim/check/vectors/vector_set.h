// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"
#include "models/mma/catalogue.h"
#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"
#include "sim/check/vectors/bit_array.h"
#include "sim/check/vectors/mma_batch.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sptc::check::vectors {

/// A set of an instruction that its target has, but whose arithmetic nobody knows.
class UnknownArithmetic : public base::InputError {
 public:
  using base::InputError::InputError;
};

/// One result array of a set and the instruction that made it.
struct VectorOutput {
  std::string name;  ///< "D", "D_f32", "D_H1", "D_satfinite" ...
  mma::Target target;
  mma::MmaInstruction instruction;
  mma::SparseGrouping grouping = mma::SparseGrouping::kCompressed;
  BitArray c;         ///< [case, M, N], in the type of the instruction
  BitArray expected;  ///< [case, M, N]
};

/// An array set: `<stem>.json` and `<stem>.<array>.npy`, in one of two layouts. Instructions: A [case,M,K], B
/// [case,K,N], C, D [case,M,N]; mmasp adds idx [case,M,K/2] and has D_H1 and D_H2 in place of D, integers D_wrap and
/// D_satfinite. Hardware words (the json has "gpu"): A, B [case,k] and C, D_f32, D_f16 [case], one dot product each.
/// Sets of a capture (the json has "measured") have one D for every instruction (tests/hardware/CAPTURE.md).
struct VectorSet {
  std::string file;    ///< of the json, relative to the directory that was asked for
  std::string family;  ///< "mma", "mmasp", "wgmma", "tcgen05mma", "mma_fp8_lowered", "hw"
  bool from_hardware = false;
  MmaOperands operands;  ///< its c is that of no output: see VectorOutput
  std::vector<VectorOutput> outputs;
  /// Elements on which the published models disagree; bits over M*N per case. Nothing: the set does not say.
  std::optional<BitArray> contested;
  std::vector<std::string> categories;       ///< names
  std::optional<BitArray> category_of_case;  ///< index into them
  /// Whether metadata of a capture have no meaning in the PTX ISA.
  bool undefined = false;
  /// Sparse sets of a capture: the metadata registers E, [case, ...], and their selectors.
  std::optional<BitArray> registers, selectors;

  std::size_t cases() const { return operands.cases(); }
  bool is_contested(std::size_t index, std::size_t row, std::size_t column) const;
  /// "cancellation"; empty where the set does not say.
  std::string category(std::size_t index) const;
};

/// The .json files below `directory` that stand for a set: all but probes.json. Sorted. Throws InputError where there
/// is none, and for a .npy that belongs to none.
std::vector<std::filesystem::path> find_vector_sets(const std::filesystem::path& directory);

/// Reads one set. Throws InputError for anything that is missing, of the wrong shape, or not understood.
VectorSet read_vector_set(const std::filesystem::path& json_file, const std::filesystem::path& directory);

}  // namespace sptc::check::vectors
