// SPDX-License-Identifier: Apache-2.0
#include "sim/api/handles.h"
#include "sim/config/derivation.h"
#include "sim/io/json_reader.h"

#include <utility>

namespace sptcsim {
namespace {

namespace config = sptc::config;

std::string pointer_of(const Architecture::State& state, const std::string& path) {
  return config::parameter_pointer(state.document, path, {state.value.gpu.name, ""});
}

}  // namespace

Architecture::Architecture(const std::string& name_or_path)
    : state_(std::make_shared<State>(State{config::load_documented_architecture(name_or_path)})) {}

const std::string& Architecture::name() const {
  return state_->value.gpu.name;
}

double Architecture::number(const std::string& path) const {
  const nlohmann::json& value = config::parameter_value(state_->document, pointer_of(*state_, path));
  if (!value.is_number()) {
    throw InputError("'" + path + "' of " + name() + " is a word and no number");
  }
  return value.get<double>();
}

Architecture Architecture::with(const std::map<std::string, double>& numbers) const {
  State changed = *state_;
  for (const auto& [path, number] : numbers) {
    config::set_parameter(changed.document, pointer_of(*state_, path), sptc::io::number_as_json(number),
                          "set by the program that links sptcsim");
  }
  changed.value = config::to_architecture(changed.document, name());
  changed.value.bases = state_->value.bases;  // where a derived design has its energies
  return Architecture(std::make_shared<const State>(std::move(changed)));
}

std::vector<std::string> architectures() {
  return config::architecture_names();
}

std::string config_directory() {
  return config::config_directory().string();
}

void set_config_directory(const std::string& directory) {
  config::set_shipped_config_directory(directory);
}

}  // namespace sptcsim
