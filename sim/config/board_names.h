// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "sim/config/config_fwd.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::config {

/// The name of architecture_names() that `word` means: that name itself, or an alias of
/// common/aliases.json ("A100"). A configuration directory of the user's own may add aliases. Case,
/// blanks, hyphens, underscores and the maker's words in front do not matter: "NVIDIA GeForce RTX
/// 4090" is the rtx4090. A path, and a word that means no board, come back as they are. Throws
/// InputError where a file of aliases has a fault.
std::string board_name(const std::string& word);

/// The file of board_name(`name_or_path`) in the first of `directories` that has it; a path as it
/// is. Throws InputError for an unknown name: it says which are the nearest, and which of those
/// have another chip than the GPU called so, as far as common/aliases.json knows.
std::filesystem::path board_path(const std::string& name_or_path, std::string_view what,
                                 const std::vector<std::filesystem::path>& directories);

/// The chip of a board: what its file says, else that of the GPU whose name its own begins with, as
/// common/aliases.json knows it ("GA100" of "a100-sxm4-80gb"). Empty: not known.
std::string chip_of_board(const Architecture& architecture);

/// The target of matrix instructions that `word` means: one of mma::find_target(), or that of an
/// architecture (a name, an alias or a file). Throws InputError with the nearest name.
const mma::Target& target_of(const std::string& word);

}  // namespace sptc::config
