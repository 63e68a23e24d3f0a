// SPDX-License-Identifier: Apache-2.0
#include "sim/config/evidence.h"

#include "models/base/text.h"
#include "sim/config/text_file.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sptc::sim {

Evidence read_evidence(const JsonObject& number) {
  constexpr std::array<std::string_view, 4> kKinds = {"measured", "cited", "derived", "assumed"};
  Evidence result;
  result.kind = number.text("evidence");
  if (std::find(kKinds.begin(), kKinds.end(), result.kind) == kKinds.end()) {
    (number.place() / "evidence")
        .fail("unknown evidence " + unknown_name(printable(result.kind), kKinds));
  }
  result.source = number.text("source");
  return result;
}

}  // namespace sptc::sim
