// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/python/bindings.h"
#include "sim/report/version.h"

#include <exception>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <string>

namespace nb = nanobind;

namespace {

/// Raises the exception of Python `type` where an `Error` is thrown. What it says may quote the
/// bytes of a file, and Python takes UTF-8 alone.
template <typename Error>
void bind_error(nb::module_& module, const char* name, PyObject* base) {
  const nb::object type = nb::exception<Error>(module, name, base);
  type.attr("__module__") = "sptcsim";
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* raised) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error& error) {
          PyErr_SetString(static_cast<PyObject*>(raised), sptc::base::bounded_message(error.what()).c_str());
        }
      },
      type.ptr());
}

}  // namespace

// The library of SystemC asks for a program's sc_main; in a Python process nobody calls it.
extern "C" __attribute__((visibility("default"))) int sc_main(int /*argc*/, char* /*argv*/[]) {
  return 0;
}

// The names of the package are those of sptcsim/__init__.py, which checks and names arguments.
NB_MODULE(_core, module) {
  bind_error<sptc::base::InternalError>(module, "InternalError", PyExc_RuntimeError);
  bind_error<sptc::base::InputError>(module, "InputError", PyExc_ValueError);
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
