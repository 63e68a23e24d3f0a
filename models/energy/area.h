// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/numerics/data_type.h"

#include <array>
#include <map>
#include <string_view>

namespace sptc::energy {

/// Silicon of one element, in square micrometres at the table's process node.
struct AreaTable {
  std::map<numerics::DataType, double> multiplier_um2;
  std::map<numerics::DataType, double> adder_um2;  ///< align and add, per product
  double rounder_um2 = 0;                          ///< per dot unit
  double mux_um2_per_input_bit = 0;                ///< of a selector multiplexer
  double flip_flop_um2 = 0;                        ///< one bit of pipeline or metadata register
  double sram_um2_per_byte = 0;                    ///< register file, shared memory; arrays only
};

struct AreaConstant {
  std::string_view name;  ///< of what it is the area: "flip_flops"
  std::string_view key;   ///< in the section "area" of an energy file
};

/// The numbers that an area consists of, for a core whose widest multiplier is of f16.
inline constexpr std::array<AreaConstant, 6> kAreaConstants = {{
    {"multipliers", "multiplier_um2/f16"},
    {"adders", "adder_um2/f16"},
    {"rounders", "rounder_um2"},
    {"multiplexers", "mux_um2_per_input_bit"},
    {"flip_flops", "flip_flop_um2"},
    {"sram", "sram_um2_per_byte"},
}};

/// What of a tensor core the area depends on. All from the architecture.
struct TensorCoreShape {
  int dot_units = 0;
  int products_per_unit = 0;
  int selector_inputs = 1;  ///< M of N:M: 1 has no selector
  int kept = 1;             ///< N of N:M
  double adder_scale = 1;   ///< width of adders and rounders over the table's
  double rounders_per_unit = 1;
  int operand_bits = 0;
  int accumulator_bits = 32;
  int metadata_bits = 0;                               ///< held: indices of the instructions in flight
  numerics::DataType type = numerics::DataType::kF16;  ///< the widest multiplier
};

struct TensorCoreArea {
  double multipliers_um2 = 0;
  double adders_um2 = 0;
  double rounding_um2 = 0;
  double operand_registers_um2 = 0;
  double selector_um2 = 0;    ///< multiplexers, and the registers of the candidates dense has not
  double candidates_um2 = 0;  ///< of selector_um2: those registers
  double metadata_um2 = 0;

  double total_um2() const {
    return multipliers_um2 + adders_um2 + rounding_um2 + operand_registers_um2 + selector_um2 + metadata_um2;
  }
  /// What sparsity adds, over what a dense core has.
  double sparse_overhead() const {
    const double sparse = selector_um2 + metadata_um2;
    return sparse / (total_um2() - sparse);
  }
};

/// Coarse: sums of elements, no wiring. Throws InputError where the table lacks the type.
TensorCoreArea tensor_core_area(const TensorCoreShape& shape, const AreaTable& table);

}  // namespace sptc::energy
