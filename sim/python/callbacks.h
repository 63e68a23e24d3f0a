// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/run/worker_pool.h"

#include <functional>
#include <nanobind/nanobind.h>
#include <string>

namespace sptc::python {

/// Raises what Ctrl-C means, seen between two launches of a closed form and ten times a second
/// elsewhere. Takes the lock of the interpreter.
void raise_signals();

/// Calls `progress`, which must outlive it, with the lock of the interpreter; nothing where it is None.
run::ProgressCallback progress_of(const nanobind::object& progress);

/// What `work` returns in a process of its own: Ctrl-C ends it, whatever it is at. Call it with the
/// lock of the interpreter held.
std::string in_worker(const std::function<std::string(const run::ProgressCallback&)>& work,
                      const nanobind::object& progress);
/// The same of work that tells nothing on its way.
std::string in_worker(const std::function<std::string()>& work);

}  // namespace sptc::python
