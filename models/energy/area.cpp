// SPDX-License-Identifier: Apache-2.0
#include "models/energy/area.h"

#include "models/base/error.h"

#include <string>

namespace sptc::energy {
namespace {

double of_type(const std::map<numerics::DataType, double>& areas, numerics::DataType type) {
  const auto found = areas.find(type);
  if (found == areas.end()) {
    throw base::InputError("the energy file has no area of a multiplier of " + std::string(numerics::name(type)));
  }
  return found->second;
}

}  // namespace

TensorCoreArea tensor_core_area(const TensorCoreShape& shape, const AreaTable& table) {
  base::ensure(
      shape.dot_units > 0 && shape.products_per_unit > 0 && shape.kept > 0 && shape.selector_inputs >= shape.kept,
      "energy: a tensor core without multipliers, or a selector narrower than it keeps");
  const double products = double{1} * shape.dot_units * shape.products_per_unit;
  TensorCoreArea area;
  area.multipliers_um2 = products * of_type(table.multiplier_um2, shape.type);
  area.adders_um2 = products * of_type(table.adder_um2, shape.type) * shape.adder_scale;
  area.rounding_um2 = shape.dot_units * shape.rounders_per_unit * table.rounder_um2 * shape.adder_scale;
  const double bits = products * 2 * shape.operand_bits + shape.dot_units * shape.accumulator_bits;
  area.operand_registers_um2 = bits * table.flip_flop_um2;
  if (shape.selector_inputs > shape.kept) {
    // One multiplexer per multiplier over the candidates of its group, and candidates: a group of M
    // elements of B is held for N multipliers where a dense core holds N.
    const double candidates = products * (shape.selector_inputs - shape.kept) / shape.kept;
    area.candidates_um2 = candidates * shape.operand_bits * table.flip_flop_um2;
    area.selector_um2 =
        products * shape.selector_inputs * shape.operand_bits * table.mux_um2_per_input_bit + area.candidates_um2;
    area.metadata_um2 = shape.metadata_bits * table.flip_flop_um2;
  }
  return area;
}

}  // namespace sptc::energy
