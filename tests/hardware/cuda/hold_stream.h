// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sptc::hardware {

/// Keeps the default stream busy for about a tenth of a millisecond: whatever the host queues
/// meanwhile follows without the time that the host takes to launch it.
void hold_stream();

}  // namespace sptc::hardware
