// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"
#include "sim/workload/topology/model_class.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload::topology {

/// How the weights of a model are multiplied and lie in memory.
struct WeightForm {
  std::string dtype;         ///< of the products
  std::string weight_dtype;  ///< "s8" or "s4" in memory; empty: `dtype`
  std::int64_t scale_block = 0;
};

/// A config.json of Hugging Face, where the text part of it is nested that part. What it does not
/// say is as its class has it. What of it is looked at is noted down, so that notes can say the
/// rest. Throws InputError.
class ModelConfig {
 public:
  explicit ModelConfig(const io::JsonObject& root);

  const ModelClass& of_class() const { return *class_; }
  const io::JsonPlace& place() const { return config_.place(); }

  /// The value of the first of `keys` that is there and not null, at least `least`; else `absent`,
  /// that of the class. 0 for `absent`: the key is required.
  std::int64_t extent(std::initializer_list<std::string_view> keys, std::int64_t absent,
                      std::int64_t least = 1);
  /// The same where nothing or null means `follows`, which is worked out of other values.
  std::int64_t extent_or(std::string_view key, std::int64_t absent, std::int64_t follows);
  bool boolean(std::string_view key, bool absent);
  std::string text(std::initializer_list<std::string_view> keys, std::string_view absent);
  double number(std::string_view key, double absent);
  /// An array under `key`; null where there is none.
  const nlohmann::json* array(std::string_view key);
  /// The object or array under `key`; null where there is none.
  const nlohmann::json* find(std::string_view key);

  /// Of the activations, and of weights that are not quantised: "f16", "bf16" or "tf32".
  std::string dtype();
  /// Of the weights of the layers.
  WeightForm weights();

  /// What was not in the file, what of it is not read, and what was understood of weights.
  std::vector<std::string> notes() &&;

 private:
  WeightForm read_quantization(const io::JsonObject& quantization);
  WeightForm read_compressed_tensors(const io::JsonObject& quantization);
  WeightForm weight_only(std::int64_t bits, std::int64_t group);
  WeightForm unread(const std::string& what);

  const io::JsonObject root_, config_;
  bool nested_ = false;
  const ModelClass* class_ = nullptr;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> defaults_, notes_;
};

}  // namespace sptc::workload::topology
