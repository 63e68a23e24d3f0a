// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

namespace sptc::io {

/// `json`, an empty object if it was null. Ask for it before a member of a null is named or a null
/// is filled: operator[], update() and push_back() of nlohmann-json 3.11.2 set the type of a null
/// before they have memory for it, and the destructor follows the null pointer where there is none.
template <typename Json>
Json& as_object(Json& json) {
  if (json.is_null()) {
    json = Json::object();
  }
  return json;
}

/// `json`, an empty array if it was null, for the same reason.
template <typename Json>
Json& as_array(Json& json) {
  if (json.is_null()) {
    json = Json::array();
  }
  return json;
}

}  // namespace sptc::io
