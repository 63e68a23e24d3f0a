// SPDX-License-Identifier: Apache-2.0
#include "sim/config/derivation.h"

#include "models/base/text.h"
#include "sim/config/architecture.h"
#include "sim/config/common_numbers.h"
#include "sim/config/evidence.h"
#include "sim/config/named_file.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

namespace sptc::config {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBases = 16;

// Keys beside its name that a board has of itself: its base may be another chip.
constexpr std::array kAboutTheFile{"chip", "description"};

bool is_number_object(const json& value) {
  return value.is_object() && value.contains("value");
}

/// Applies the changes of a derived document at `at`; `errors` says which of them change nothing. `board`: the evidence
/// and the source of a number are a change, too.
void apply_changes(json& base, const json& changes, const io::JsonPlace& at, bool board, ErrorList& errors) {
  for (const auto& [key, change] : changes.items()) {
    const io::JsonPlace place = at / key;
    const auto found = base.find(key);
    if (found == base.end() && change.is_null()) {
      errors.refuse(place, "cannot be removed: the base has no such key");
    } else if (found == base.end()) {
      base[key] = change;  // the reader knows whether there is such a key
    } else if (change.is_null()) {
      base.erase(found);
    } else if (found->is_object() && change.is_object() && !is_number_object(*found) && !is_number_object(change)) {
      if (change.empty()) {
        errors.refuse(place, "changes nothing");
      }
      apply_changes(*found, change, place, board, errors);
    } else {
      const bool number = is_number_object(change);
      const bool by_value = number && is_number_object(*found) && !board;
      if (by_value ? (*found)["value"] == change["value"] : *found == change) {
        errors.refuse(place, "changes nothing: the base has {} already",
                      io::describe(number ? change["value"] : change));
      }
      *found = change;
    }
  }
}

/// What a document was derived from.
struct Chain {
  FindDocument find;
  bool has_boards;  ///< whether a document may say that it is a board
  /// Adds what the end of the chain, in a file, may leave out.
  std::function<json(json, const std::string&)> complete_origin;
  std::vector<std::string> paths;
  std::vector<std::string> names;  ///< the end of the chain first
  json origin;                     ///< the document at its end
};

/// Takes "board" out of `changes`. Returns whether it was there.
bool take_board(json& changes, const io::JsonPlace& root, const Chain& chain) {
  const auto found = changes.find(kBoard);
  if (found == changes.end() || !chain.has_boards) {
    return false;  // the reader knows no such key
  }
  if (*found != true) {
    (root / kBoard).fail("must be true, or left out, not " + io::describe(*found));
  }
  changes.erase(found);
  return true;
}

/// `document` without "base"; what that leads to is added to `chain`.
json complete(json document, const std::string& file, Chain& chain) {
  if (!document.is_object()) {
    return document;
  }
  if (document.contains(kFittedDesign)) {
    (io::JsonPlace{file, ""} / kFittedDesign).fail("is made from the base, not written");
  }
  if (!document.contains("base")) {
    return chain.origin = chain.complete_origin(std::move(document), file);
  }
  const io::JsonPlace root{file, ""};
  const io::JsonObject reader(document, root);
  const std::string base = reader.text("base");
  reader.text("name");  // the base's name would stand over results that are not the base's
  const std::string path = chain.find(base_path(base, file)).string();
  chain.paths.push_back(path);
  if (chain.paths.size() > kMaxBases || std::count(chain.paths.begin(), chain.paths.end(), path) > 1) {
    (root / "base").fail("'{}' leads back to itself or through more than {} bases", io::printable(base), kMaxBases);
  }
  json result = complete(read_named_file(base, path), path, chain);
  if (!result.is_object()) {
    (root / "base").fail("'{}' holds no object", io::printable(base));
  }
  json changes = document;
  changes.erase("base");
  if (result.contains("name") && result["name"].is_string()) {
    chain.names.push_back(result["name"].get<std::string>());
  }
  result["name"] = std::move(changes["name"]);
  changes.erase("name");
  for (const char* const own : kAboutTheFile) {
    result.erase(own);
    if (changes.contains(own)) {
      result[own] = std::move(changes[own]);
      changes.erase(own);
    }
  }
  const bool board = take_board(changes, root, chain);
  ErrorList errors;
  apply_changes(result, changes, root, board, errors);
  errors.throw_if_any();
  if (board) {
    chain.origin = chain.complete_origin(result, file);
  }
  return result;
}

/// Calls `visit(pointer, value)` for each parameter below `value`.
void for_each_parameter(const json& value, const std::string& pointer,
                        const std::function<void(const std::string&, const json&)>& visit) {
  if (is_number_object(value)) {
    visit(pointer, value["value"]);
  } else if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      const bool about_the_file =
          pointer.empty() &&
          (key == "name" || std::find(kAboutTheFile.begin(), kAboutTheFile.end(), key) != kAboutTheFile.end());
      if (!about_the_file && key != "evidence" && key != "source") {
        for_each_parameter(inner, (io::JsonPlace{"", pointer} / key).pointer, visit);
      }
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      for_each_parameter(value[i], fmt::format("{}/{}", pointer, i), visit);
    }
  } else {
    visit(pointer, value);
  }
}

}  // namespace

std::string base_path(const std::string& base, const std::string& file) {
  if (!is_path(base) || std::filesystem::path(base).is_absolute()) {
    return base;
  }
  return (std::filesystem::path(file).parent_path() / base).lexically_normal().string();
}

json complete_document(json document, const std::string& file, const FindDocument& find) {
  Chain chain{find, false, [](json origin, const std::string&) { return origin; }, {}, {}, {}};
  return complete(std::move(document), file, chain);
}

json complete_architecture(json document, const std::string& file, std::vector<std::string>* bases) {
  const bool derived = document.is_object() && document.contains("base");
  const bool board = derived && document.contains(kBoard);
  if (derived) {
    auto changes = document.size() - document.count("base") - document.count("name") - document.count(kBoard);
    for (const char* const own : kAboutTheFile) {
      changes -= document.count(own);
    }
    if (changes == 0) {
      io::JsonPlace{file, ""}.fail("changes nothing of its base {}", io::describe(document["base"]));
    }
  }
  const json common = read_common_numbers();
  const auto fill = [&common](json origin, const std::string& its_file) {
    return with_common_numbers(std::move(origin), common, its_file);
  };
  Chain chain{architecture_path, true, fill, {}, {}, {}};
  // Fills once more behind the changes, which may have removed a number.
  json result = fill(complete(std::move(document), file, chain), file);
  if (derived && !board) {
    result[std::string(kFittedDesign)] = std::move(chain.origin);
  }
  if (bases != nullptr) {
    bases->assign(chain.names.rbegin(), chain.names.rend());
  }
  return result;
}

std::string parameter_pointer(const json& document, const std::string& path, const io::JsonPlace& place) {
  std::string wanted = path;
  if (!wanted.starts_with('/')) {
    std::replace(wanted.begin(), wanted.end(), '.', '/');
    wanted.insert(0, "/");
  }
  std::vector<std::string> pointers;
  std::vector<std::string> ending;
  for_each_parameter(document, "", [&](const std::string& pointer, const json& /*value*/) {
    if (pointer.substr(1).starts_with(kFittedDesign)) {
      return;
    }
    pointers.push_back(pointer);
    if (pointer.ends_with(wanted)) {
      ending.push_back(pointer);
    }
  });
  if (std::find(pointers.begin(), pointers.end(), wanted) != pointers.end()) {
    return wanted;
  }
  if (ending.size() == 1 && !path.starts_with('/')) {
    return ending.front();
  }
  if (ending.size() > 1 && !path.starts_with('/')) {
    place.fail("'{}' means more than one parameter: {}", io::printable(path), fmt::join(ending, ", "));
  }
  const std::vector<std::string_view> allowed(pointers.begin(), pointers.end());
  place.fail("unknown parameter " + base::unknown_name(io::printable(wanted), allowed));
}

const json& parameter_value(const json& document, const std::string& pointer) {
  const json& found = document.at(json::json_pointer(pointer));
  return is_number_object(found) ? found["value"] : found;
}

void set_parameter(json& document, const std::string& pointer, const json& value, const std::string& source) {
  json& found = document.at(json::json_pointer(pointer));
  if (is_number_object(found)) {
    found = {{"value", value}, {"evidence", "assumed"}, {"source", source}};
  } else {
    found = value;
  }
}

std::vector<std::pair<std::string, std::string>> parameter_values(const json& document) {
  std::vector<std::pair<std::string, std::string>> result;
  for_each_parameter(document, "", [&](const std::string& pointer, const json& value) {
    // 108 and 108.0 are the same configuration.
    result.emplace_back(pointer, value.is_number() ? fmt::format("{}", value.get<double>())
                                                   : value.dump(-1, ' ', false, json::error_handler_t::replace));
  });
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace sptc::config
