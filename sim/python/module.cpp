// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/python/bindings.h"
#include "sim/report/version.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <string>

namespace nb = nanobind;

// The library of SystemC asks for a program's sc_main; in a Python process nobody calls it.
extern "C" __attribute__((visibility("default"))) int sc_main(int /*argc*/, char* /*argv*/[]) {
  return 0;
}

// The names of the package are those of sptcsim/__init__.py, which checks and names arguments.
NB_MODULE(_core, module) {
  nb::exception<sptc::base::InternalError> internal(module, "InternalError", PyExc_RuntimeError);
  nb::exception<sptc::base::InputError> input(module, "InputError", PyExc_ValueError);
  for (const nb::handle error : {nb::handle(internal), nb::handle(input)}) {
    error.attr("__module__") = "sptcsim";
  }
  module.attr("__version__") = std::string(sptc::report::program_version());
  sptc::python::bind_instructions(module);
  sptc::python::bind_values(module);
  sptc::python::bind_sparsity(module);
  sptc::python::bind_model_pruning(module);
  sptc::python::bind_architectures(module);
  sptc::python::bind_simulation(module);
  sptc::python::bind_commands(module);
  sptc::python::bind_sweep(module);
}
