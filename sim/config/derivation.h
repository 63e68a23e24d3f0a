// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::config {

/// Where a completed architecture document keeps that at the end of its chain of bases, or, for
/// sweeps, itself before anything is varied (GpuSpec::fitted_design). No file may have it.
inline constexpr std::string_view kFittedDesign = "fitted_design";

/// Key of a derived architecture document, true: not a design of somebody's own but another board
/// of the same chip. Its library chooses kernels for it as for a document without "base", designs
/// that are derived from it keep its kernels, and a number may differ in its evidence alone.
inline constexpr std::string_view kBoard = "board";

/// An architecture document without "base": `document` as it is, or, where it has
///
///     {"base": "a100-sxm4-80gb", "name": "...", "sms": {"value": 54, "evidence": ..., "source":
///     ...}}
///
/// the document that "base" names (a name of architecture_names(), or a path relative to `file`),
/// itself completed, with the changes applied at any depth. A number is replaced with its evidence
/// and source, never in part; null goes back to the common number (sim/config/common_numbers.h). A
/// derived document needs a name of its own, and takes over neither description nor chip. Numbers
/// that a file may leave out are filled in, so that derived files and sweeps can change them.
/// `bases` become the names of what it was derived from, the nearest first. Throws one InputError
/// that lists every change that has no effect.
nlohmann::json complete_architecture(nlohmann::json document, const std::string& file,
                                     std::vector<std::string>* bases = nullptr);

/// The same for any kind of document, which may change nothing but its name; `find` is the path of
/// a name, or of a path, of that kind.
using FindDocument = std::function<std::filesystem::path(const std::string&)>;
nlohmann::json complete_document(nlohmann::json document, const std::string& file, const FindDocument& find);

/// What "base" of `file` names: a name, or a path relative to the file that says so.
std::string base_path(const std::string& base, const std::string& file);

/// The JSON pointer in `document` (complete) that `path` means: a pointer ("/sm/max_warps"), a
/// dotted path ("sm.max_warps"), or a last key that occurs once ("max_warps"). It is the pointer of
/// a number or of a word that is a parameter. Throws InputError with the nearest at `place`.
std::string parameter_pointer(const nlohmann::json& document, const std::string& path, const io::JsonPlace& place);

const nlohmann::json& parameter_value(const nlohmann::json& document, const std::string& pointer);

/// Gives the parameter at `pointer` another value, with the evidence "assumed" and `source`.
void set_parameter(nlohmann::json& document, const std::string& pointer, const nlohmann::json& value,
                   const std::string& source);

/// What a simulation depends on: pointer and value (as JSON) of every parameter, sorted by pointer.
/// Names, descriptions, evidence and sources are no part of it.
std::vector<std::pair<std::string, std::string>> parameter_values(const nlohmann::json& document);

}  // namespace sptc::config
