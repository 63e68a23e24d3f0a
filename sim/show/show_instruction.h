// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/show/element_view.h"

#include <functional>
#include <string>

namespace sptc::show {

/// Takes element `choice` of the instruction called `name`, whole or in part, apart. `arch` is a
/// board, whose tensor core simulates it alone for the cycles (SystemC elaborates once per
/// process), or a target without cycles: "sm_80", "ampere". Throws InputError.
ElementView show_instruction(
    const std::string& name, const std::string& arch,
    const std::function<ShownOperands(const mma::MmaInstruction&)>& operands,
    const ElementChoice& choice);

}  // namespace sptc::show
