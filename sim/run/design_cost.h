// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/area.h"
#include "models/mma/mma_fwd.h"
#include "models/numerics/data_type.h"
#include "models/sparsity/sparsity_fwd.h"
#include "sim/gpu/gpu_fwd.h"

#include <array>
#include <optional>

namespace sptc::run {

/// `asked`, or where there is none that of the hardware for `type`.
sparsity::WeightPattern weight_pattern(const std::optional<sparsity::WeightPattern>& asked, numerics::DataType type);

/// How weights of `type` run on `gpu`: at `pattern`, or where there is none as the hardware has it.
/// Throws InputError where the selector does not allow it.
sparsity::PatternExecution weights_execution(const std::optional<sparsity::WeightPattern>& pattern,
                                             numerics::DataType type, const gpu::GpuSpec& gpu);

/// The same in a kernel of `instruction`, which may leave a wider selector unused.
sparsity::PatternExecution weights_execution(const std::optional<sparsity::WeightPattern>& pattern,
                                             const mma::MmaInstruction& instruction, const gpu::GpuSpec& gpu);

/// What an event of a tensor core costs over that of the GPU which the energy file describes: 1
/// unless the architecture has a design of its own. Coarse: an adder as its width (F fraction bits,
/// sign, two integer bits of a product, carries of L + 1 addends), a selector as its inputs.
struct DesignCost {
  double align_add = 1;       ///< energy of one product aligned and added
  double round = 1;           ///< energy of one rounding
  double rounds = 1;          ///< roundings per product
  double operand_select = 1;  ///< energy of one choice
};
DesignCost design_cost(const gpu::GpuSpec& gpu, numerics::DataType type);
/// The same of an instruction: its choice is among the candidates of its own pattern.
DesignCost design_cost(const gpu::GpuSpec& gpu, const mma::MmaInstruction& instruction);

/// Silicon of a whole GPU, in mm2: what the area table knows and no more (no wiring, no CUDA cores,
/// no memory controllers). Good for differences between designs, not for a die.
struct GpuArea {
  energy::TensorCoreArea tensor_core;  ///< one of them
  double tensor_cores_mm2 = 0;
  double register_files_mm2 = 0;
  double shared_memories_mm2 = 0;
  double l2_mm2 = 0;
  double tensor_cores = 0;  ///< how many

  double total_mm2() const { return tensor_cores_mm2 + register_files_mm2 + shared_memories_mm2 + l2_mm2; }
  /// Areas in the order of energy::kAreaConstants.
  std::array<double, energy::kAreaConstants.size()> by_constant_mm2() const;
};
GpuArea gpu_area(const gpu::GpuSpec& gpu, const energy::AreaTable& table);

/// What a board could do at best, at its boost clock.
struct BoardFigures {
  int sms = 0;
  double boost_clock_mhz = 0;
  double dram_gb_per_s = 0;  ///< that the pins deliver after row misses and refresh
  double l2_gb_per_s = 0;
  double shared_memory_gb_per_s = 0;  ///< of all SMs
};
BoardFigures board_figures(const gpu::GpuSpec& gpu);

}  // namespace sptc::run
