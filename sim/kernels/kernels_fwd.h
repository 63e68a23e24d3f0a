// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::kernels {

struct GemmOperands;
struct GemmProblem;
struct KernelResult;

}  // namespace sptc::kernels
