// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/instruction.h"
#include "models/mma/step_rules.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::mma {

/// A compilation target of PTX.
struct Target {
  std::string_view name;          ///< "sm_80"
  std::string_view architecture;  ///< row set of step_rules: "ampere"
  std::string_view gpus;          ///< "A100, A30", as their vendor calls them
  std::size_t sass_column = 0;    ///< of the table of instructions

  /// Ten times that of its GPUs: 90 of "sm_90a".
  int compute_capability() const;
};

std::span<const Target> targets();

/// The target called `name`, without regard to case: "sm_80", "sm_90a", "ampere", "A100", "RTX
/// Blackwell". Throws InputError with the nearest name.
const Target& find_target(std::string_view name);

const Target* lookup_target(std::string_view name);

/// The words that find_target() knows, as their vendor spells them.
std::vector<std::string_view> target_names();

/// The target of a GPU whose arithmetic is that of `architecture`: the one that lists the longest
/// beginning of its name ("RTX 30" for an rtx3090), else the first.
const Target& target_of_gpu(std::string_view gpu, std::string_view architecture);

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
/// "mma.sp.m16n8k32.f32.f16.f16.f32"). mma.sp::ordered_metadata is the same instruction and takes
/// metadata in order alone. Throws InputError that names the part which is none.
MmaInstruction parse_instruction(std::string_view name);

/// Whether software sorts the indices of each group before `instruction` on sm_120: plain .sp of
/// f16 and of 8-bit integers. Nothing sorts those of bf16, tf32 and fp8, and 4-bit integers are as
/// slow in both spellings (code of ptxas 13.0, table of an RTX 5090).
bool may_need_sorting(const MmaInstruction& instruction);

/// How the speed of `instruction` on `target` hangs on its spelling, a clause; empty: it does not.
/// An RTX 5090 takes 1.5 to 5.8 times the cycles of the dense instructions of as many products with
/// one chain in each of eight warps, and 15 to 88 times with eight chains.
std::string_view speed_warning(const Target& target, const MmaInstruction& instruction);

}  // namespace sptc::mma
