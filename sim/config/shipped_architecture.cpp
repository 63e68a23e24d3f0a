// SPDX-License-Identifier: Apache-2.0
#include "sim/config/architecture.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::config {
namespace {

/// Numbers of the architecture called `name`, read once; nothing where there is none.
const std::optional<Architecture>& shipped_architecture(const std::string& name) {
  // Asked for at each run: what was read holds for as long as the directory has the same name.
  struct Known {
    std::string directory;
    std::map<std::string, std::optional<Architecture>> architectures;
  };
  thread_local Known known_here;
  auto& [directory, known] = known_here;
  const char* const set = std::getenv("SPTCSIM_CONFIG_DIR");
  if (const std::string_view now = set == nullptr ? "" : set; now != directory) {
    directory = now;
    known.clear();
  }
  const auto [found, added] = known.try_emplace(name);
  const std::vector<std::string> names = added ? architecture_names() : std::vector<std::string>();
  if (std::binary_search(names.begin(), names.end(), name)) {
    found->second = load_architecture(name);
  }
  return found->second;
}

}  // namespace

bool is_shipped(const Architecture& architecture) {
  const std::optional<Architecture>& shipped = shipped_architecture(architecture.gpu.name);
  const auto same = [](const Parameter& left, const Parameter& right) {
    return left.value == right.value && left.pointer == right.pointer;
  };
  return shipped && shipped->gpu.numerics == architecture.gpu.numerics &&
         std::equal(shipped->parameters.begin(), shipped->parameters.end(),
                    architecture.parameters.begin(), architecture.parameters.end(), same);
}

}  // namespace sptc::config
