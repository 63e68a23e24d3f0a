// SPDX-License-Identifier: Apache-2.0
#include "sim/config/evidence.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <string_view>

namespace sptc::config {

Evidence read_evidence(const io::JsonObject& number) {
  number.require("evidence");
  const std::size_t kind = number.choice("evidence", kEvidenceKinds, "unknown evidence");
  return {std::string(kEvidenceKinds[kind]), number.text("source")};
}

io::JsonObject number_with_evidence(const io::JsonObject& section, std::string_view key) {
  const nlohmann::json& number = section.require(key);
  if (number.is_number()) {
    (section.place() / key)
        .fail(R"(must be an object, not {0}: {{"value": {0}, "evidence": "assumed", )"
              R"("source": "why"}})",
              io::describe(number));
  }
  return section.object(key);
}

void check_keys(const io::JsonObject& object, std::span<const std::string_view> allowed, ErrorList& errors) {
  for (const auto& [key, unused] : object.value().items()) {
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
      errors.refuse(object.place(), "unknown key {}", base::unknown_name(io::printable(key), allowed));
    }
  }
}

}  // namespace sptc::config
