// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/kernel/kernel_crosscheck.h"

#include <string>

namespace sptc::report {

/// One page that needs no network: sim/report/crosscheck.html with the report on a kernel and a map of D. `command`
/// repeats it; empty: not known.
std::string crosscheck_page(const check::kernel::KernelCase& kernel, const check::kernel::KernelDiagnosis& diagnosis,
                            const std::string& command);

}  // namespace sptc::report
