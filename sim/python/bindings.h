// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace sptc::python {

// Each adds its part to the module sptcsim._core.
void bind_instructions(nanobind::module_& module);
void bind_values(nanobind::module_& module);
void bind_sparsity(nanobind::module_& module);
void bind_model_pruning(nanobind::module_& module);
void bind_architectures(nanobind::module_& module);
void bind_simulation(nanobind::module_& module);
void bind_sweep(nanobind::module_& module);

}  // namespace sptc::python
