// SPDX-License-Identifier: Apache-2.0
// A loop over constants, compiled once per vector target (Highway).

#if defined(SPTC_ENGINE_UNROLLED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPTC_ENGINE_UNROLLED_INL_H_
#undef SPTC_ENGINE_UNROLLED_INL_H_
#else
#define SPTC_ENGINE_UNROLLED_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <type_traits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace sptc::batched::HWY_NAMESPACE {

/// body(0), ..., body(kCount - 1) with constants: only then does GCC keep arrays of vectors in
/// registers.
template <std::size_t kCount, typename Body>
HWY_INLINE void unrolled(Body body) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) HWY_ATTR {
    (body(std::integral_constant<std::size_t, kIndex>()), ...);
  }
  (std::make_index_sequence<kCount>());
}

}  // namespace sptc::batched::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
