// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture.h"
#include "sim/config/derivation.h"
#include "sim/python/bindings.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace sptc::python {
namespace {

using config::Architecture;
using config::Parameter;

nb::object number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? nb::object(nb::int_(whole)) : nb::object(nb::float_(value));
}

nb::list parameters(const Architecture& architecture) {
  nb::list result;
  for (const Parameter& parameter : architecture.parameters) {
    nb::dict row;
    row["pointer"] = parameter.pointer;
    row["value"] = number(parameter.value);
    row["unit"] = parameter.unit;
    row["evidence"] = parameter.evidence;
    row["source"] = parameter.source;
    result.append(row);
  }
  return result;
}

}  // namespace

void bind_architectures(nb::module_& module) {
  module.def("set_shipped_config_directory",
             [](const std::string& directory) { config::set_shipped_config_directory(directory); });
  module.def("architecture_names", config::architecture_names);
  module.def("architecture_path", [](const std::string& name) { return config::architecture_path(name).string(); });
  nb::class_<Architecture>(module, "Architecture")
      .def_prop_ro("name", [](const Architecture& a) { return a.gpu.name; })
      .def_prop_ro("numerics", [](const Architecture& a) { return a.gpu.numerics; })
      .def_ro("bases", &Architecture::bases)
      .def("parameters", parameters);
  nb::class_<LoadedArchitecture, Architecture>(module, "LoadedArchitecture")
      // Finds the pointer of a number by the words that `--set` and sweeps take.
      .def("parameter_pointer", [](const LoadedArchitecture& a, const std::string& path) {
        return config::parameter_pointer(nlohmann::json::parse(a.text.document), path, {"with_", ""});
      });
  module.def("load_architecture",
             [](const std::string& name) { return LoadedArchitecture(config::load_architecture_text(name)); });
  module.def("to_architecture", [](const std::string& document, const std::string& file) {
    return LoadedArchitecture(config::complete_architecture_text(document, file));
  });
}

}  // namespace sptc::python
