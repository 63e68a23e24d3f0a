// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops that are written for the compiler's vectoriser: where the toolchain can, each is compiled
// once more for AVX2 and for AVX-512 and picked at load time, before a sanitizer is ready; results
// are the same.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SPTC_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define SPTC_VECTOR_CLONES
#endif

// GCC would unroll a loop over eight columns before its vectoriser sees it.
#if defined(__GNUC__) && !defined(__clang__)
#define SPTC_LANES _Pragma("GCC unroll 1")
#else
#define SPTC_LANES
#endif
