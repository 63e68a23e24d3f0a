// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::config {

struct Architecture;

}  // namespace sptc::config
