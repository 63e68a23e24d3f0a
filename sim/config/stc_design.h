// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/energy/stc_design.h"

#include <string>
#include <string_view>
#include <vector>

namespace sptc::config {

/// A file of energy/designs/, or a path: a design of Sparseloop's kind; see energy::StcDesign.
/// Throws one InputError with every problem of the file.
energy::StcDesign load_stc_design(const std::string& name_or_path);
std::vector<std::string> stc_design_names();
energy::StcDesign parse_stc_design(std::string_view text, const std::string& file);

}  // namespace sptc::config
