// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/model_file.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sptc::prune {

/// Where the channels of a part stand along an axis: channel c at first + c * stride.
struct ChannelRun {
  std::size_t part = 0, slice = 0, first = 0, stride = 1;
};

/// The channels of a group in a tensor of a model.
struct ChannelAxis {
  std::size_t tensor = 0, axis = 0;
  std::vector<ChannelRun> runs;
  bool sliced = false;  ///< whether a run is in one slice of the first axis, that of an expert
};

/// Channels that tensors have in common: rows of the producers, with their biases and scales, and k of the consumers.
/// Each part, a head of values or an expert, has an order of its own.
struct ChannelParts {
  std::size_t parts = 1, channels = 0;  ///< and channels of each part
  std::vector<ChannelAxis> producers, consumers;
};

struct TransformerChannels {
  std::vector<ChannelParts> groups;
  std::vector<std::string> notes;  ///< which channels stay, and why; a sentence each
};

/// The groups of a transformer whose tensors are called as Hugging Face calls them, in numbered layers: rows of gate
/// and up with columns of down, also of each expert; rows of a head of values with the columns of the output projection
/// that the heads of queries of its group have. Of fused projections they are the rows that hold these. How many heads
/// there are, config.json beside the model says. Where other tensors may hold something of each channel, a note says
/// so.
TransformerChannels transformer_channels(const ModelFile& model);

}  // namespace sptc::prune
