// SPDX-License-Identifier: Apache-2.0
// Shared objects that --memory has to refuse: SPTC_ABI and SPTC_SYSTEMC are what they say of
// themselves.
#include <sptcsim/plugin/memory.h>

extern "C" const sptcsim::MemoryPlugin sptcsim_memory_plugin{SPTC_ABI, SPTC_SYSTEMC, nullptr, "bad", nullptr, nullptr};
