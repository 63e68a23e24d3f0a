// SPDX-License-Identifier: Apache-2.0
#include "sim/report/html_page.h"
#include "sim/show/element_view.h"

#include <string_view>

namespace sptc::show {
/// sim/show/element.html.
std::string_view element_page();
}  // namespace sptc::show

namespace sptc::show {

std::string element_html(const ElementView& view) {
  return report::html_page(element_page(), element_json(view));
}

}  // namespace sptc::show
