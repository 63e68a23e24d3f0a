// SPDX-License-Identifier: Apache-2.0
// Preloaded into the program, this library takes vector instructions away from Highway: those wider
// than $SPTC_VECTORS, which is sse4, avx2 or avx512.
#include <hwy/targets.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace hwy {

std::int64_t SupportedTargets() {
  const auto real = reinterpret_cast<std::int64_t (*)()>(::dlsym(RTLD_NEXT, "_ZN3hwy16SupportedTargetsEv"));
  const char* const widest = std::getenv("SPTC_VECTORS");
  const std::int64_t best = widest == nullptr                  ? HWY_AVX3_DL
                            : std::strcmp(widest, "sse4") == 0 ? HWY_SSE4
                            : std::strcmp(widest, "avx2") == 0 ? HWY_AVX2
                                                               : HWY_AVX3;
  // Wider ones have lower bits.
  return real() & ~(best - 1);
}

}  // namespace hwy
