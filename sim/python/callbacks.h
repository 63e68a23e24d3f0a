// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/simulator.h"

#include <cstddef>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <string>

namespace sptc::python {

/// Ctrl-C, seen between two launches of a closed form and ten times a second elsewhere. Takes the
/// lock of the interpreter.
inline void raise_signals() {
  const nanobind::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) {
    throw nanobind::python_error();
  }
}

/// Calls `progress`, which must outlive it, with the lock of the interpreter; nothing where it is
/// None.
inline run::Simulator::Progress progress_of(const nanobind::object& progress) {
  if (progress.is_none()) {
    return {};
  }
  return [&progress](std::size_t done, std::size_t total, const std::string& next) {
    const nanobind::gil_scoped_acquire locked;
    progress(done, total, next);
  };
}

}  // namespace sptc::python
