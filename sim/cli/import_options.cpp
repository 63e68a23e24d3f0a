// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/import_options.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"
#include "sim/run/option_values.h"
#include "sim/workload/importer/account.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sptc::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// "NAME=rest" in two.
std::pair<std::string, std::string> named(const char* option, const char* example,
                                          const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw base::InputError(fmt::format("{} must be NAME=V, for example {}, not '{}'", option,
                                       example, io::printable(text)));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::int64_t extent(const std::string& option, const std::string& name, const std::string& text) {
  return run::parse_positive(option + " " + io::printable(name), text, workload::kMaxExtent);
}

}  // namespace

void RecordingOptions::add_to(CLI::App& command) {
  command
      .add_option("FILE", file,
                  "workload (.json, .csv) or recording, recognised by content; - reads standard "
                  "input")
      ->type_name("FILE")
      ->required();
  add_extents_to(command);
  command
      .add_option("--convention", convention,
                  "what M of a CSV counts: weight-first (features) or tokens-first (as PyTorch)")
      ->type_name("WORD")
      ->capture_default_str();
  command.add_flag("--tf32", tf32, "f32 GEMMs whose kernel is not recorded run as TF32");
  command.add_flag("--strict", strict, "a launch that is not taken is an error");
}

void RecordingOptions::add_extents_to(CLI::App& command) {
  command.add_option("--dim", dims, "value of a dimension of the file")->type_name("NAME=V,..");
  command.add_option("--input", inputs, "extents of an input of an ONNX model, as 1,3,224,224")
      ->type_name("NAME=EXTENTS");
}

workload::Recording RecordingOptions::read() const {
  return read([](workload::Recording&) {});
}

workload::ImportOptions RecordingOptions::import_options() const {
  workload::ImportOptions options;
  options.tf32 = tf32;
  options.convention = workload::parse_convention(convention);
  options.dims = workload::single_values(workload::parse_dim_lists(dims));
  for (const std::string& given : inputs) {
    const auto [name, extents] = named("--input", "x=1,3,224,224", given);
    std::vector<std::int64_t>& to = options.inputs[name];
    if (!to.empty()) {
      throw base::InputError(fmt::format("--input: {} is given twice", io::printable(name)));
    }
    for (const std::string& part : split(extents)) {
      to.push_back(extent("--input", name, part));
    }
  }
  return options;
}

workload::Recording RecordingOptions::read(
    const std::function<void(workload::Recording&)>& adjust) const {
  workload::Recording recording = workload::importer::read_recording(file, import_options());
  adjust(recording);
  if (strict) {
    workload::importer::require_all_taken(recording);
  }
  report::write_message(workload::importer::account_text(recording));
  return recording;
}

}  // namespace sptc::cli
