// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sptc::hardware {

/// Throws InputError "no usable GPU: <why>".
[[noreturn]] void throw_no_gpu(const std::string& why);

}  // namespace sptc::hardware
