// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/report/figures.h"

namespace sptc::report {

/// Appends the energy of a `Result`, whose member `energy` may be absent.
template <typename Result>
void append_energy_figures(Figures<Result>& figures);

/// Appends the supply of the core, and the events that were counted.
void append_event_figures(Figures<run::VariantResult>& figures);

}  // namespace sptc::report
