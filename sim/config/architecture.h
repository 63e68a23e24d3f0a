// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/gpu/gpu_spec.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::io {
class JsonObject;
}  // namespace sptc::io

namespace sptc::config {

struct ArchitectureField;

/// One number of an architecture file and why we believe it.
struct Parameter {
  std::string pointer;  ///< JSON pointer in the file: "/sm/tensor_core/dot_units"
  double value = 0;
  std::string unit;      ///< from the key: cycles, bytes, bytes/cycle, MHz; empty for a count
  std::string evidence;  ///< measured, cited, derived or assumed
  std::string source;
};

/// A validated architecture and the provenance of its numbers, in the order of the fields of
/// GpuSpec.
struct Architecture {
  gpu::GpuSpec gpu;
  std::vector<Parameter> parameters;
  std::vector<std::string> bases;  ///< names of what its file was derived from, the nearest first
  std::string chip;                ///< "GA100", as its file says; see chip_of_board() (sim/config/board_names.h)
};

/// The number of `field` in `section` of a file: within its bounds, with evidence and source, and
/// nothing else. Throws InputError.
Parameter read_number(const io::JsonObject& section, const ArchitectureField& field);

/// Reads `name_or_path`: a name of architecture_names(), or a path (it contains '/' or ends in
/// ".json"). A file may be derived from another ("base"; see sim/config/derivation.h). Throws one
/// InputError that lists every problem of the file, one line each.
Architecture load_architecture(const std::string& name_or_path);

/// The same from text; `file` is for messages and for the path of a base.
Architecture parse_architecture(std::string_view text, const std::string& file);

/// The same from a complete document (no "base").
Architecture to_architecture(const nlohmann::json& document, const std::string& file);

/// What an architecture was read from, complete: it can travel to another process and be read there
/// again.
struct ArchitectureText {
  std::string document;  ///< JSON
  std::string file;      ///< for messages
  std::vector<std::string> bases;

  bool operator==(const ArchitectureText&) const = default;
};
ArchitectureText load_architecture_text(const std::string& name_or_path);
/// The text of a document that may be derived, as parse_architecture() takes it.
ArchitectureText complete_architecture_text(std::string_view text, const std::string& file);
Architecture to_architecture(const ArchitectureText& text);

/// An architecture that takes other values for its numbers again and again: quicker than
/// to_architecture(), for sweeps.
class VariedArchitecture {
 public:
  explicit VariedArchitecture(Architecture base) : base_(std::move(base)), varied_(base_) {}

  /// The base with `numbers` (pointer and value), as to_architecture() would read them from its
  /// document with set_parameter(). Stays as it is until the next call. Null where a pointer is not
  /// that of a number, or a value is not allowed; to_architecture() says why.
  const Architecture* with(std::span<const std::pair<std::string, double>> numbers, std::string_view source);

 private:
  Architecture base_;
  Architecture varied_;
  std::vector<std::size_t> changed_;  ///< indices of parameters
};

/// Names that load_architecture() knows, sorted: the files of the user's configuration directory,
/// of the shipped one, and of their folders mig/, without ".json".
std::vector<std::string> architecture_names();

/// Whether `architecture` is one of those, number for number: not a design of one's own.
bool is_shipped(const Architecture& architecture);

/// The file that load_architecture() would read. Throws InputError for an unknown name.
std::filesystem::path architecture_path(const std::string& name_or_path);

/// $SPTCSIM_CONFIG_DIR, or shipped_config_directory(). Throws InputError where the first names
/// none.
std::filesystem::path config_directory();

/// The directory of set_shipped_config_directory(), share/sptcsim/configs beside the installed
/// program, or configs/ of the source tree that it was built from.
std::filesystem::path shipped_config_directory();

/// The directories `folder` of both, the user's own first: it need not repeat what is shipped.
/// Then, where one is named, those of the folder `second`. "": the directories themselves.
std::vector<std::filesystem::path> config_directories(std::string_view folder, std::string_view second = {});

/// Sets the directory of code that is not in the program: a Python package has its configurations
/// beside its modules. Call it before anything is loaded.
void set_shipped_config_directory(std::filesystem::path directory);

}  // namespace sptc::config
