// SPDX-License-Identifier: Apache-2.0
// The target of the precompiled header needs a source.
#include "tests/support/test_headers.h"
