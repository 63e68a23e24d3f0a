// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload_dims.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/workload/dim_lists.h"
#include "sim/workload/extent_expression.h"
#include "sim/workload/open_dims.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

namespace sptc::workload {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDims = 64;

struct ExtentKey {
  std::string_view name;
  std::int64_t least = 1;
  std::int64_t most = kMaxExtent;
};

constexpr ExtentKey kOpExtents[] = {{"m"},
                                    {"n"},
                                    {"k"},
                                    {"batch"},
                                    {"count"},
                                    {"rest_ns", 0, kMaxRest},
                                    {"rest_bytes", 0, kMaxRest},
                                    {"rows"},
                                    {"columns"},
                                    {"inputs"},
                                    {"outputs"},
                                    {"input_rows"},
                                    {"scale_block"}};
constexpr ExtentKey kConvExtents[] = {{"N"},      {"C"},      {"H"},       {"W"},      {"K"},
                                      {"R"},      {"S"},      {"P"},       {"groups"}, {"Q"},
                                      {"stride"}, {"pad", 0}, {"dilation"}};

constexpr const char* kSeq = "seq";
constexpr const char* kContext = "context";

/// Whether one token of each sequence is meant: the keys that are read are given, and by default
/// they are those of the tokens, whose number is not.
bool decodes(const json& declared, const NamedDims& given) {
  return given.contains(kContext) && !given.contains(kSeq) && declared.contains(kContext) &&
         declared.contains(kSeq) && declared[kContext] == kSeq;
}

/// The dimensions that a workload declares, evaluated when they are asked for.
class DeclaredDims {
 public:
  DeclaredDims(const json& declared, const io::JsonPlace& place, const NamedDims& given)
      : declared_(declared), place_(place), given_(given), open_(given, place.file) {
    if (declared_.size() > kMaxDims) {
      place_.fail(fmt::format("{} dimensions are more than {}", declared_.size(), kMaxDims));
    }
    for (const auto& [name, value] : declared_.items()) {
      if (!is_dim_name(name)) {
        (place_ / name).fail("a dimension is called by a letter, then letters, digits and _");
      }
      names_.push_back(name);
    }
  }

  /// All values.
  NamedDims evaluate() {
    for (const std::string& name : names_) {
      value(name, place_ / name);
    }
    open_.refuse_unused();
    return values_;
  }

  /// `text` at `place`, which is one of the extents in `key`.
  std::int64_t extent(const std::string& text, const ExtentKey& key, const io::JsonPlace& place) {
    const std::int64_t found = evaluate_extent(
        text, [&](const std::string& name) { return value(name, place); }, place);
    if (found < key.least || found > key.most) {
      place.fail(fmt::format("\"{}\" is {}, but must be from {} to {}", io::printable(text), found,
                             key.least, key.most));
    }
    return found;
  }

 private:
  std::int64_t value(const std::string& name, const io::JsonPlace& asked_at) {
    if (const auto known = values_.find(name); known != values_.end()) {
      return known->second;
    }
    if (!declared_.contains(name)) {
      const std::vector<std::string_view> known(names_.begin(), names_.end());
      asked_at.fail("unknown dimension " + base::unknown_name(io::printable(name), known));
    }
    if (!pending_.insert(name).second) {
      (place_ / name).fail("the dimension depends on itself");
    }
    const std::int64_t found = given_or_default(name);
    pending_.erase(name);
    values_[name] = found;
    return found;
  }

  std::int64_t given_or_default(const std::string& name) {
    const json& absent = declared_[name];
    if (absent.is_null()) {
      return dim_in_range(name, open_.value(name, name + "=8"));
    }
    if (const auto given = open_.given(name)) {
      return dim_in_range(name, *given);
    }
    if (name == kSeq && decodes(declared_, given_)) {
      return 1;
    }
    const io::JsonPlace place = place_ / name;
    return absent.is_string() ? extent(absent.get<std::string>(), {name}, place)
                              : io::to_integer(absent, place, 1, kMaxExtent);
  }

  const json& declared_;
  io::JsonPlace place_;
  const NamedDims& given_;
  OpenDims open_;
  std::vector<std::string> names_;
  std::set<std::string> pending_;
  NamedDims values_;
};

void resolve(json& value, const ExtentKey& key, DeclaredDims& dims, const io::JsonPlace& place) {
  if (value.is_string()) {
    value = dims.extent(value.get<std::string>(), key, place);
  } else if (value.is_array()) {  // stride, pad, dilation
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_string()) {
        resolve(value[i], key, dims, place / i);
      }
    }
  }
}

void resolve_all(json& object, std::span<const ExtentKey> keys, DeclaredDims& dims,
                 const io::JsonPlace& place) {
  for (const ExtentKey& key : keys) {
    if (const auto found = object.find(key.name); found != object.end()) {
      resolve(*found, key, dims, place / key.name);
    }
  }
}

}  // namespace

NamedDims resolve_dims(json& document, const NamedDims& given, const std::string& file,
                       std::vector<std::string>& notes) {
  const json declared = document.value("dims", json::object());
  const io::JsonPlace root{file, ""};
  if (!declared.is_object()) {
    (root / "dims")
        .fail("must be an object of dimensions and defaults, not " + io::describe(declared));
  }
  DeclaredDims dims(declared, root / "dims", given);
  NamedDims values = dims.evaluate();
  if (decodes(declared, given)) {
    notes.push_back(fmt::format(
        "decode: one token of each sequence (seq = 1), as context = {} is given without seq",
        values.at(kContext)));
  }
  const auto ops = document.find("ops");
  if (ops == document.end() || !ops->is_array()) {
    return values;  // the reader says it
  }
  for (std::size_t i = 0; i < ops->size(); ++i) {
    json& op = (*ops)[i];
    if (!op.is_object()) {
      continue;
    }
    const io::JsonPlace place = root / "ops" / i;
    resolve_all(op, kOpExtents, dims, place);
    if (const auto conv = op.find("conv"); conv != op.end() && conv->is_object()) {
      resolve_all(*conv, kConvExtents, dims, place / "conv");
    }
  }
  return values;
}

}  // namespace sptc::workload
