// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::mma {

struct MmaInstruction;

}  // namespace sptc::mma
