// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/json_reader.h"
#include "sim/workload/topology/model_classes.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sptc::workload::topology {

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
  std::int64_t extent_or(std::string_view key, std::int64_t absent, std::int64_t follows,
                         std::int64_t least = 1);
  bool boolean(std::string_view key, bool absent);
  std::string text(std::initializer_list<std::string_view> keys, std::string_view absent);
  /// A number above 0, at most 1, under `key`, or under that of "rope_parameters".
  double number(std::string_view key, double absent);
  /// An array under `key`; null where there is none.
  const nlohmann::json* array(std::string_view key);
  /// The object or array under `key`; null where there is none.
  const nlohmann::json* find(std::string_view key);

  /// The object under `key`, of the text part or else of the whole; nothing where there is none.
  std::optional<io::JsonObject> object(std::string_view key);

  /// Of the activations, and of weights that are not quantised: "f16", "bf16" or "tf32".
  std::string dtype();

  /// Notes down `text`, a sentence on how the file was understood.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  /// What was noted, each once, what was not in the file, and what of it is not read.
  std::vector<std::string> notes() &&;

 private:
  const io::JsonObject root_, config_;
  bool nested_ = false;
  const ModelClass* class_ = nullptr;
  std::set<std::string, std::less<>> asked_;
  std::vector<std::string> defaults_, notes_;
};

}  // namespace sptc::workload::topology
