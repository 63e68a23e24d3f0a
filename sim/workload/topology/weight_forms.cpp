// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"
#include "sim/io/regular_expression.h"
#include "sim/io/text_file.h"
#include "sim/workload/topology/model_config.h"
#include "sim/workload/workload_text.h"

#include <fmt/ranges.h>

#include <array>
#include <iterator>
#include <re2/re2.h>
#include <span>

namespace sptc::workload::topology {
namespace {

using nlohmann::json;

/// An operation, and the modules of transformers that hold its weight, below the layer.
struct ModulesOfOperation {
  std::string_view operation, modules;
};

constexpr ModulesOfOperation kModules[] = {
    {"attn.qkv",
     "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.qkv_proj attn.c_attn attention.query_key_value "
     "attention.self.query"},
    {"attn.qkv_a", "self_attn.q_proj self_attn.q_a_proj self_attn.kv_a_proj_with_mqa self_attn.fused_qkv_a_proj"},
    {"attn.q_b", "self_attn.q_b_proj"},
    {"attn.kv_b", "self_attn.kv_b_proj"},
    {"attn.o", "self_attn.o_proj self_attn.out_proj attn.c_proj attention.dense"},
    {"attn.output", "attention.output.dense"},
    {"mlp.gate_up", "mlp.gate_proj mlp.up_proj mlp.gate_up_proj feed_forward.gate_proj"},
    {"mlp.down", "mlp.down_proj feed_forward.down_proj"},
    {"mlp.fc1", "mlp.fc1 mlp.c_fc fc1"},
    {"mlp.fc2", "mlp.fc2 mlp.c_proj fc2"},
    {"ffn.intermediate", "intermediate.dense"},
    {"ffn.output", "output.dense"},
    {"moe.expert.gate_up",
     "mlp.experts.0.gate_proj mlp.experts.gate_up_proj block_sparse_moe.experts.0.w1 block_sparse_moe.input_linear "
     "feed_forward.experts.gate_up_proj feed_forward.experts.0.gate_proj"},
    {"moe.expert.down",
     "mlp.experts.0.down_proj mlp.experts.down_proj block_sparse_moe.experts.0.w2 block_sparse_moe.output_linear "
     "feed_forward.experts.down_proj feed_forward.experts.0.down_proj"},
    {"moe.shared.gate_up",
     "mlp.shared_experts.gate_proj mlp.shared_experts.gate_up_proj mlp.shared_expert.gate_proj "
     "feed_forward.shared_expert.gate_proj shared_mlp.input_linear"},
    {"moe.shared.down",
     "mlp.shared_experts.down_proj mlp.shared_expert.down_proj feed_forward.shared_expert.down_proj "
     "shared_mlp.output_linear"},
    {"ssm.in_proj", "mixer.in_proj"},
    {"ssm.out_proj", "mixer.out_proj"},
};

/// Whether a model has `operation`, by its attention: `latent` or not.
bool fits_attention(std::string_view operation, bool latent) {
  constexpr std::array<std::string_view, 3> kOfLatent{"attn.qkv_a", "attn.q_b", "attn.kv_b"};
  return latent ? operation != "attn.qkv" : std::ranges::find(kOfLatent, operation) == kOfLatent.end();
}

/// Modules that stay as they are whether or not a list names them.
constexpr std::string_view kNeverQuantised =
    "lm_head embed_out embed_tokens model.embed_tokens wte wpe model.norm gate mlp.gate block_sparse_moe.gate "
    "block_sparse_moe.router router mlp.router feed_forward.router mlp.shared_expert_gate mixer.conv1d classifier";

std::int64_t integer_of(const io::JsonObject& object, std::string_view key) {
  const bool said = object.has(key) && object.require(key).is_number_integer();
  return said ? object.require(key).get<std::int64_t>() : 0;
}

/// The group of a quantisation: of a row where it is -1 or 0.
std::int64_t group_of(const io::JsonObject& object, std::string_view key) {
  const std::int64_t group = integer_of(object, key);
  return group > 0 && group <= kMostInScaleBlock ? group : 0;
}

/// What a list calls modules: those of one layer, or of all.
class ModuleName {
 public:
  explicit ModuleName(std::string_view name) {
    constexpr std::string_view kLayers = "layers.";
    constexpr std::string_view kRegular = "re:";
    if (name.starts_with(kRegular)) {
      read_expression("(?:" + std::string(name.substr(kRegular.size())) + ").*");
      return;
    }
    while (name.ends_with('.')) {
      name.remove_suffix(1);
    }
    for (const std::string_view other : {"vision", "visual", "audio"}) {
      if (name.find(other) != std::string_view::npos) {
        return;  // another part of the model
      }
    }
    const std::size_t layers = name.find(kLayers);
    if (layers == std::string_view::npos) {
      path_ = name.substr(name.starts_with("*.") ? 2 : 0);
    } else {
      name.remove_prefix(layers + kLayers.size());
      const std::size_t dot = std::min(name.find('.'), name.size());
      layer_ = io::parse_whole(name.substr(0, dot), layer_) ? layer_ : kEvery;
      path_ = dot < name.size() ? name.substr(dot + 1) : "*";
    }
    if (path_.find('*') != std::string::npos) {
      std::string like = RE2::QuoteMeta(path_);
      RE2::GlobalReplace(&like, R"(\\[*])", ".*");
      read_expression("(?s)" + like + R"((?:\..*)?)");
    }
  }

  /// Whether the module `path` of the layers that are meant is one of them, or in one.
  bool has(std::string_view path) const {
    if (expression_) {
      // One layer stands for all. Python matches from the first character on.
      constexpr std::string_view kOuter[] = {"", "model.layers.5.", "language_model.model.layers.5.",
                                             "model.language_model.layers.5."};
      const auto outer_of_name = std::span(kOuter).first(path_.empty() ? std::size(kOuter) : 1);
      return std::ranges::any_of(outer_of_name, [&](std::string_view outer) {
        return expression_->matches(std::string(outer) + std::string(path));
      });
    }
    // Whole parts of the path, from any part on.
    const std::string parts = "." + std::string(path) + ".";
    return !path_.empty() && parts.find("." + path_ + ".") != std::string::npos;
  }

  std::int64_t layer() const { return layer_; }
  static constexpr std::int64_t kEvery = -1;

 private:
  void read_expression(const std::string& text) {
    try {
      expression_.emplace("ignore", text);
    } catch (const base::InputError&) {
      path_.clear();  // of another syntax: it names nothing
    }
  }

  std::optional<io::RegularExpression> expression_;
  std::string path_;
  std::int64_t layer_ = kEvery;
};

}  // namespace

WeightForms::WeightForms(ModelConfig& config, std::int64_t layers)
    : config_(config), layers_(layers), plain_{config.dtype(), "", 0}, form_(plain_) {
  const auto quantization = config.object("quantization_config");
  if (!quantization) {
    if (config.find("quantization_config") != nullptr) {
      unread("quantization_config, which is no object");
    }
    return;
  }
  form_ = read(*quantization);
  for (const std::string_view key : {"modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules"}) {
    if (quantised()) {
      read_list(*quantization, key);
    }
  }
  const json sparsity = quantization->value().value("sparsity_config", json());
  if (sparsity.is_object() && !sparsity.empty()) {
    config_.note("sparsity_config says that weights are sparse already: both ways are simulated");
  }
}

WeightForm WeightForms::of(std::string_view name, std::int64_t count) {
  const auto* const known = std::ranges::find(kModules, name, &ModulesOfOperation::operation);
  if (known == std::end(kModules) || (experts_alone_ && !name.starts_with("moe.expert."))) {
    return plain_;
  }
  const auto found = kept_.find(name);
  if (found == kept_.end()) {
    return form_;
  }
  const auto listed = static_cast<std::int64_t>(found->second.layers.size());
  const bool kept = found->second.all || 2 * listed > count;
  if (!found->second.all && listed < count) {
    config_.note("{} of {} layers keep {} in {}: all are taken as {} do", listed, count, name, plain_.dtype,
                 kept ? "these" : "the others");
  }
  return kept ? plain_ : form_;
}

void WeightForms::read_list(const io::JsonObject& quantization, std::string_view key) {
  constexpr std::size_t kMostNames = 20000, kMostExpressions = 64, kShown = 3, kNameBytes = 60;
  const json names = quantization.value().value(std::string(key), json());
  if (!names.is_array()) {
    return;
  }
  std::size_t read = 0, expressions = 0, strange = 0;
  std::vector<std::string> shown;
  for (const json& name : names) {
    const std::string text = name.is_string() ? name.get<std::string>() : std::string();
    const bool expression = text.starts_with("re:");
    expressions += expression ? 1 : 0;
    if (++read <= kMostNames && (!expression || expressions <= kMostExpressions) && keep(text)) {
      continue;
    }
    if (++strange <= kShown) {
      shown.push_back(base::shortened(text, kNameBytes));
    }
  }
  if (!names.empty()) {
    std::vector<std::string_view> kept;
    for (const auto& [operation, layers] : kept_) {
      kept.push_back(operation);
    }
    config_.note("{} names {} module{}: lm_head and routers stay {}{}{}", key, read, read == 1 ? "" : "s", plain_.dtype,
                 kept.empty() ? "" : ", and of the layers ", fmt::join(kept, ", "));
  }
  if (strange > 0) {
    config_.note("{} name{} in {} fit{} no operation that is modelled: {}{}", strange, strange == 1 ? "" : "s", key,
                 strange == 1 ? "s" : "", io::printable(fmt::format("{}", fmt::join(shown, ", "))),
                 strange > kShown ? ", .." : "");
  }
}

/// Keeps the operations of modules called `module` as they are; false where there are none.
bool WeightForms::keep(const std::string& module) {
  const ModuleName name(module);
  if (name.layer() >= layers_) {
    return false;
  }
  const auto has = [&name](std::string_view path) { return name.has(path); };
  const bool latent = (config_.of_class().traits & kLatent) != 0;
  bool found = std::ranges::any_of(parts_of(kNeverQuantised, ' '), has);
  for (const ModulesOfOperation& row : kModules) {
    if (fits_attention(row.operation, latent) && std::ranges::any_of(parts_of(row.modules, ' '), has)) {
      found = true;
      Kept& kept = kept_[std::string(row.operation)];
      kept.all = kept.all || name.layer() == ModuleName::kEvery;
      kept.layers.insert(name.layer());
    }
  }
  return found;
}

WeightForm WeightForms::unread(const std::string& what) {
  config_.note("quantization '{}' is not read: weights are {}", io::printable(what), plain_.dtype);
  return plain_;
}

WeightForm WeightForms::weight_only(std::int64_t bits, std::int64_t group) {
  const std::string& type = plain_.dtype;
  if ((bits != 4 && bits != 8) || type == "tf32") {
    return unread(fmt::format("of {} bits, multiplied as {}", bits, type));
  }
  config_.note("weights of {} bits{} are dequantised to {}", bits,
               group > 0 ? fmt::format(" with a scale for {}", group) : "", type);
  return {type, bits == 4 ? "s4" : "s8", group};
}

WeightForm WeightForms::experts_of_mxfp4() {
  if (plain_.dtype == "tf32") {
    return unread("mxfp4, multiplied as tf32");
  }
  // A scale has 8 bits for 32 weights there, and 16 bits here: those of 64 take as many bytes.
  constexpr std::int64_t kBlock = 64;
  experts_alone_ = true;
  config_.note(
      "weights of experts are mxfp4: 4 bits, dequantised to {0}, as boards without FP4 and Marlin have them; a scale "
      "of 16 bits for {1} takes the bytes of one of 8 for 32; --dtype weights=mxfp4 multiplies all weights in FP4",
      plain_.dtype, kBlock);
  return {plain_.dtype, "s4", kBlock};
}

WeightForm WeightForms::read_compressed_tensors(const io::JsonObject& quantization) {
  const json groups = quantization.value().value("config_groups", json());
  const json group = groups.is_object() && !groups.empty() ? groups.front() : json();
  const json of_weights = group.is_object() ? group.value("weights", json()) : json();
  if (!of_weights.is_object()) {
    return unread("compressed-tensors without weights");
  }
  if (groups.size() > 1) {
    config_.note("of {} groups of compressed-tensors the first stands for all", groups.size());
  }
  const json targets = group.value("targets", json());
  if (targets.is_array() && targets != json::array({"Linear"})) {
    config_.note("targets of compressed-tensors are not read: all linear layers but those of its lists are quantised");
  }
  const io::JsonObject weights(of_weights, quantization.place() / "config_groups");
  const bool both = group.value("input_activations", json()).is_object();
  const std::int64_t bits = integer_of(weights, "num_bits");
  const bool floats = word_of(weights, "type") == "float";
  const std::int64_t block = group_of(weights, "group_size");
  constexpr std::int64_t kBlockOfFourBits = 16;
  if (!floats && !both) {
    return weight_only(bits, block);
  }
  if (both && bits == 8) {
    return {floats ? "e4m3" : "s8", "", 0};
  }
  if (both && floats && bits == 4 && block == kBlockOfFourBits) {
    return {"e2m1", "", kBlockOfFourBits};
  }
  return unread(fmt::format("compressed-tensors of {} bits{}", bits, both ? "" : ", activations as they are"));
}

WeightForm WeightForms::read(const io::JsonObject& quantization) {
  const std::string method = word_of(quantization, "quant_method");
  if (method == "fp8" || method == "fbgemm_fp8") {
    if (quantization.has("weight_block_size") && quantization.require("weight_block_size").is_array()) {
      config_.note("scales of blocks of weights (weight_block_size) cost nothing here");
    }
    return {"e4m3", "", 0};
  }
  if (method == "gptq" || method == "awq") {
    const bool old = !quantization.has("bits");
    return weight_only(integer_of(quantization, old ? "w_bit" : "bits"),
                       group_of(quantization, quantization.has("q_group_size") ? "q_group_size" : "group_size"));
  }
  if (method == "bitsandbytes") {
    constexpr std::int64_t kBlock = 64;
    const bool four = quantization.boolean_or("load_in_4bit", false) || quantization.boolean_or("_load_in_4bit", false);
    return four ? weight_only(4, kBlock) : WeightForm{"s8", "", 0};
  }
  if (method == "mxfp4") {
    return experts_of_mxfp4();
  }
  if (method == "compressed-tensors") {
    return read_compressed_tensors(quantization);
  }
  if (method == "modelopt") {
    const std::string how = word_of(quantization, "quant_algo");
    if (how == "FP8" || how == "NVFP4") {
      return how == "FP8" ? WeightForm{"e4m3", "", 0} : WeightForm{"e2m1", "", 16};
    }
    return unread(how.empty() ? method : method + " " + how);
  }
  return unread(method.empty() ? "unknown" : method);
}

}  // namespace sptc::workload::topology
