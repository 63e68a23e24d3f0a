// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/prune/model_file.h"

#include <cstdint>
#include <string>

namespace sptc::prune {

/// What the config.json of Hugging Face beside a model says, of its text where it has several parts. Empty and 0: it
/// says nothing of that, or there is none.
struct HuggingFaceConfig {
  std::string type;            ///< model_type
  std::int64_t hidden = 0;     ///< features
  std::int64_t heads = 0;      ///< of queries
  std::int64_t kv_heads = 0;   ///< of keys and values; those of queries where it does not say
  std::int64_t head_dim = 0;   ///< features of a head; hidden over heads where it does not say
  std::int64_t nope_dim = 0;   ///< of keys without positions, of latent attention
  std::int64_t value_dim = 0;  ///< of values, of latent attention
  bool shares_values = false;  ///< whether layers read the values of others
};

/// Reads the config.json of the directory of `model`. Throws InputError for a file that is no JSON.
HuggingFaceConfig hugging_face_config(const ModelFile& model);

}  // namespace sptc::prune
