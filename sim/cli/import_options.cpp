// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/import_options.h"

#include "models/base/error.h"
#include "sim/cli/arguments.h"
#include "sim/config/text_file.h"
#include "sim/import/workload_text_writer.h"
#include "sim/report/message.h"
#include "sim/trace/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace sptc::sim {
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

}  // namespace

void RecordingOptions::add_to(CLI::App& command) {
  command
      .add_option("FILE", file,
                  "workload (.json, .csv) or recording, recognised by content; - reads standard "
                  "input")
      ->type_name("FILE")
      ->required();
  command.add_option("--dim", dims, "value of a dimension that the file leaves open")
      ->type_name("NAME=V,..");
  command.add_flag("--tf32", tf32, "f32 GEMMs whose kernel is not recorded run as TF32");
  command.add_flag("--strict", strict, "a launch that is not taken is an error");
}

Recording RecordingOptions::read() const {
  InputStream input{std::filesystem::path(file)};
  return read(input);
}

Recording RecordingOptions::read(InputStream& input) const {
  ImportOptions options;
  options.tf32 = tf32;
  for (const std::string& given : dims) {
    for (const std::string& part : split(given)) {
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos || equals == 0) {
        throw InputError(
            fmt::format("--dim must be NAME=V, for example batch=8, not '{}'", printable(part)));
      }
      const std::string name = part.substr(0, equals);
      const auto value =
          parse_positive("--dim " + printable(name), part.substr(equals + 1), kMaxExtent);
      if (!options.dims.emplace(name, value).second) {
        throw InputError(fmt::format("--dim: {} is given twice", printable(name)));
      }
    }
  }
  Recording recording = read_recording(input, options);
  if (strict) {
    require_all_taken(recording);
  }
  write_message(account_text(recording));
  return recording;
}

}  // namespace sptc::sim
