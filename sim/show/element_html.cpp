// SPDX-License-Identifier: Apache-2.0
#include "sim/report/html_page.h"
#include "sim/show/element_view.h"

#include <string_view>

namespace sptc::sim {

/// sim/show/element.html.
std::string_view element_page();

std::string element_html(const ElementView& view) {
  return html_page(element_page(), element_json(view));
}

}  // namespace sptc::sim
