// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hardware/capture/capture_writer.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace sptc::hardware {

// What cuBLASLt and cuSPARSELt have in common: their numbers of types (library_types.h) and of
// success.
inline constexpr int kLibrarySuccess = 0;
inline constexpr int kReal32F = 0, kReal16F = 2, kReal8I = 3, kReal32I = 10, kReal16BF = 14, kRealE4m3 = 28;

/// The number of a type by its name. Throws AbsentError where the libraries have none.
inline int library_type(const std::string& dtype) {
  for (const auto& [name, number] :
       {std::pair("f32", kReal32F), std::pair("f16", kReal16F), std::pair("bf16", kReal16BF),
        std::pair("e4m3", kRealE4m3), std::pair("s8", kReal8I), std::pair("s32", kReal32I)}) {
    if (dtype == name) {
      return number;
    }
  }
  throw AbsentError("the libraries have no " + dtype);
}

/// Throws std::runtime_error unless a call of a library succeeded.
inline void require_success(int status, const char* call) {
  if (status != kLibrarySuccess) {
    throw std::runtime_error(std::string(call) + " returned " + std::to_string(status));
  }
}

/// The library, opened once per process. Throws AbsentError with its `problem` where it has one.
template <typename Api>
const Api& opened_library() {
  static const Api opened;
  if (!opened.problem.empty()) {
    throw AbsentError(opened.problem);
  }
  return opened;
}

}  // namespace sptc::hardware
