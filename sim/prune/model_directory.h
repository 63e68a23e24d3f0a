// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/model_file.h"
#include "sim/prune/model_writer.h"
#include "sim/prune/prune_options.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::prune {

/// What a directory says of the shards that it has, and of what they were made.
inline constexpr std::string_view kManifestName = "sptcsim-shards.json";

/// A writer of the directory `path`, of the shards and the other files of the directory of `source`. A shard appears
/// whole, under its name, and is recorded; a second writer with the same `task` has those whose source has not changed.
/// Configuration and index come last. Throws InputError where `path` is not empty and no such directory, or another
/// process writes there.
std::unique_ptr<ModelWriter> make_directory_writer(const std::filesystem::path& path, const ModelFile& source,
                                                   std::vector<ModelTensor> tensors,
                                                   const std::map<std::string, std::string>& metadata,
                                                   const std::string& task);

/// What makes shards of one source the same: the command, `options` and the files that they name.
std::string task_of(const PruneOptions& options, std::string_view command, const ModelFile& source);

/// Adds sentences on what is written of `source` to `out`: what stands in its directory and not in a written one
/// (weights in other formats and what stands deeper), and a layout that other software dropped.
void add_notes_of_output(const ModelFile& source, const std::filesystem::path& out, WeightLayout layout,
                         std::vector<std::string>& notes);

/// config.json with what `facts` say: sparsity_config where compressed-tensors looks for it, and the format of
/// quantised weights. Throws InputError where `text` is no such file.
std::string edited_config(const std::string& text, const std::string& file, const DirectoryFacts& facts);

}  // namespace sptc::prune
