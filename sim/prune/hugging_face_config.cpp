// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/hugging_face_config.h"

#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"

#include <filesystem>
#include <limits>
#include <system_error>

namespace sptc::prune {
namespace {

bool says(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

/// 0 where it is no extent.
std::int64_t integer(const nlohmann::json& object, const char* key) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto found = object.find(key);
  const bool known = found != object.end() && found->is_number_integer();
  const std::int64_t value = known ? found->get<std::int64_t>() : 0;
  return value > 0 && value <= kMost ? value : 0;
}

HuggingFaceConfig parsed(const nlohmann::json& root) {
  const bool is_nested = root.is_object() && root.contains("text_config");
  const nlohmann::json& text = is_nested ? root.at("text_config") : root;
  HuggingFaceConfig config;
  if (!text.is_object()) {
    return config;
  }
  const auto type = text.find("model_type");
  config.type = type != text.end() && type->is_string() ? type->get<std::string>() : "";
  config.hidden = integer(text, "hidden_size");
  config.heads = integer(text, "num_attention_heads");
  config.kv_heads = says(text, "num_key_value_heads") ? integer(text, "num_key_value_heads") : config.heads;
  const bool divides = config.heads > 0 && config.hidden % config.heads == 0;
  config.head_dim = says(text, "head_dim") ? integer(text, "head_dim") : divides ? config.hidden / config.heads : 0;
  config.nope_dim = integer(text, "qk_nope_head_dim");
  config.value_dim = integer(text, "v_head_dim");
  config.shares_values = integer(text, "num_kv_shared_layers") > 0;
  return config;
}

}  // namespace

HuggingFaceConfig hugging_face_config(const ModelFile& model) {
  constexpr std::uint64_t kMaxBytes = 4 << 20;
  const std::filesystem::path folder =
      model.directory().empty() ? model.files().front().parent_path() : model.directory();
  const std::filesystem::path path = folder / "config.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return {};
  }
  return parsed(io::parse_json(io::read_text_file(path, kMaxBytes), io::printable(path.string())));
}

}  // namespace sptc::prune
