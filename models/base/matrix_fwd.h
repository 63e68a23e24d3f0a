// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::base {

template <typename T>
class Matrix;

}  // namespace sptc::base
