// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/prune_page.h"

#include "sim/report/html_page.h"
#include "sim/report/version.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace sptc::prune {
/// sim/prune/prune.html.
std::string_view prune_html();

std::string prune_page(const PruneReport& pruned, const std::string& command) {
  auto json = nlohmann::ordered_json::parse(prune_json(pruned));
  json["version"] = report::program_version();
  json["command"] = command;
  return report::html_page(prune_html(), json.dump(-1, ' ', false, decltype(json)::error_handler_t::replace));
}

}  // namespace sptc::prune
