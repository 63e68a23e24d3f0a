// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::gpu {

class Observer;
struct GpuSpec;

}  // namespace sptc::gpu
