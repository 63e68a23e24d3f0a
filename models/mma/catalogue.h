// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/mma/sparse_grouping.h"
#include "models/mma/target.h"

#include <string>
#include <string_view>
#include <vector>

namespace sptc::mma {

struct StepRules;

/// One instruction on one target.
struct CatalogueEntry {
  MmaInstruction instruction;  ///< of the smallest n
  int max_n = 0;               ///< n runs to here (wgmma, tcgen05) ...
  int n_step = 1;              ///< ... in these steps
  std::string sass;            ///< "HMMA.16816.F32", "IMMA.8816.S8.S8 x2"; empty: not published
  bool is_software = false;    ///< a routine without a matrix instruction

  /// The PTX name; "m64nNk16 ... (N = 8, 16 .. 256)" where n runs.
  std::string ptx_name() const;
  bool covers(const MmaInstruction& wanted) const;
};

/// Every matrix instruction that `target` has, dense and sparse. SASS names as ptxas 13.0 makes
/// them; those of sm_70 are from Jia et al., "Dissecting the NVIDIA Volta GPU Architecture"
/// (arXiv 1804.06826).
std::vector<CatalogueEntry> instructions(const Target& target);

/// The entry of `instruction`. Throws InputError that names the nearest instructions of the target,
/// and the targets that have it.
CatalogueEntry find_instruction(const Target& target, const MmaInstruction& instruction);

/// The arithmetic of an instruction that `target` has. Throws InputError where it has not, or where
/// the arithmetic is not known.
StepRules instruction_rules(const Target& target, const MmaInstruction& instruction,
                            SparseGrouping grouping = SparseGrouping::kCompressed);

/// The instruction that `name` spells: a PTX name, whole or with any of the parts that always are
/// the same left out ("mma.m16n8k16.f32.f16.f16.f32", "m16n8k16.f32.f16.f16.f32",
/// "mma.sp.m16n8k32.f32.f16.f16.f32"). Throws InputError that names the part which is none.
MmaInstruction parse_instruction(std::string_view name);

/// How the speed of `instruction` on `target` hangs on its spelling, a clause; empty: it does not.
/// Plain .sp of f16 and of integers is the slow one on sm_120, not that of bf16, tf32 and fp8
/// (tables of an RTX 5090 and an RTX 5070 Ti; ptxas warns of it).
std::string_view speed_warning(const Target& target, const MmaInstruction& instruction);

}  // namespace sptc::mma
