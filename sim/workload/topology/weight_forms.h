// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/workload/topology/model_config.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace sptc::workload::topology {

/// How the weights of a model are multiplied and lie in memory.
struct WeightForm {
  std::string dtype;         ///< of the products
  std::string weight_dtype;  ///< "s8" or "s4" in memory; empty: `dtype`
  std::int64_t scale_block = 0;
};

/// What the "quantization_config" of a model says of each of its weights. Embeddings, routers and
/// the last layer stay as they are, and so does what its lists of modules name in more than half of
/// the layers. Notes say what was understood. Throws InputError.
class WeightForms {
 public:
  /// `layers`: those of the model.
  WeightForms(ModelConfig& config, std::int64_t layers);

  /// Of the weight of operation `name`, which `count` layers have.
  WeightForm of(std::string_view name, std::int64_t count);
  /// Whether any weight is quantised.
  bool quantised() const { return form_.dtype != plain_.dtype || !form_.weight_dtype.empty(); }

 private:
  /// The layers of an operation that lists name.
  struct Kept {
    bool all = false;
    std::set<std::int64_t> layers;
  };

  WeightForm read(const io::JsonObject& quantization);
  WeightForm read_compressed_tensors(const io::JsonObject& quantization);
  WeightForm weight_only(std::int64_t bits, std::int64_t group);
  WeightForm experts_of_mxfp4();
  WeightForm unread(const std::string& what);
  void read_list(const io::JsonObject& quantization, std::string_view key);
  bool keep(const std::string& module);

  ModelConfig& config_;
  std::int64_t layers_;
  WeightForm plain_, form_;
  bool experts_alone_ = false;
  std::map<std::string, Kept, std::less<>> kept_;  ///< by operation
};

}  // namespace sptc::workload::topology
