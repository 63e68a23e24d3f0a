// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/space/sweep_spec.h"

#include <optional>
#include <string>

namespace sptc::sweep::space {

/// Why the parameter that `axis` varies can change no figure of any point of `spec`, or nothing:
/// the closed form does not know it, no GEMM kernel is made of the instruction that it is about, or
/// an option that all points have leaves it out.
std::optional<std::string> why_ineffective(const SweepSpec& spec, const SweepAxis& axis);

}  // namespace sptc::sweep::space
