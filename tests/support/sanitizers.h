// SPDX-License-Identifier: Apache-2.0
/// Which sanitizer the tests are built with, for what cannot be tested under one.
#pragma once

namespace sptc::support {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// Their allocators keep what is freed, take locks across a fork, and end the process that asks for
/// too much.
inline constexpr bool kSanitizedAllocator = kAddressSanitizer || kThreadSanitizer;

}  // namespace sptc::support
