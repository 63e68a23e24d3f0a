// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/dim_lists.h"
#include "sim/workload/readers.h"
#include "sim/workload/topology/builder.h"
#include "sim/workload/workload_text.h"

namespace sptc::workload::topology {
namespace {

using Json = Builder::Json;

// Where the user gives none: those of the lists in traces/.
constexpr std::int64_t kBatch = 1, kSeq = 2048, kSeqOfEncoder = 384;

void add_embedding(Builder& builder, std::int64_t projected) {
  builder.vector("embeddings", "embedding", kTokens, projected, 1);
  if (projected != builder.hidden()) {
    builder.weight("project_in", builder.hidden(), kTokens, projected, 1);
  }
  if (builder.has(kNoRotary)) {
    builder.vector("position", "residual", kTokens, builder.hidden(), 1);
  }
  if (builder.config().boolean("do_layer_norm_before", true)) {
    builder.vector("norm", builder.norm(), kTokens, builder.hidden(), 1);
  }
}

void close_attention(Builder& builder) {
  if (!builder.has(kParallel)) {
    builder.close_layer("attn", builder.layers(), 2);
  } else if (!builder.has(kOneNorm)) {
    builder.vector("attn.norm", builder.norm(), kTokens, builder.hidden(), builder.layers());
  }
}

void note_pass(ModelConfig& config, const Pass& pass) {
  config.note("{}", pass.decodes()
                        ? fmt::format("decode: one token each of {} sequences of {}", pass.batch, pass.context)
                        : fmt::format("prefill: {} sequences of {} tokens", pass.batch, pass.seq));
  const bool attends = config.of_class().family == Family::kDecoder;
  if (attends) {
    config.note("GEMMs of attention are counted whole: causal masks do not make them smaller");
  }
  for (const char* const key : {"max_position_embeddings", "n_positions"}) {
    const nlohmann::json* const most = config.find(key);
    if (most != nullptr && most->is_number_integer() && most->get<std::int64_t>() > 0 &&
        most->get<std::int64_t>() < pass.context) {
      config.note("a context of {} is longer than the model takes: {} = {}", pass.context, key,
                  most->get<std::int64_t>());
    }
  }
  for (const char* const key : {"num_nextn_predict_layers", "num_mtp_layers"}) {
    if (config.find(key) != nullptr && config.extent({key}, 0, 0) > 0) {
      config.note("{} = {}: the layers that predict further tokens are left out", key, config.extent({key}, 0, 0));
    }
  }
}

Json add_decoder(Builder& builder, OpenDims& dims) {
  ModelConfig& config = builder.config();
  const auto context = dims.given("context");
  const auto seq = dims.given("seq");
  Pass pass;
  pass.batch = dims.given("batch").value_or(kBatch);
  pass.seq = seq.value_or(context ? 1 : kSeq);
  pass.context = context.value_or(pass.seq);
  require_context(pass.context, pass.seq);
  note_pass(config, pass);
  const std::int64_t projected = config.extent_or("word_embed_proj_dim", 0, builder.hidden());
  add_embedding(builder, projected);
  if (builder.of_class().family == Family::kStateSpace) {
    add_state_space(builder, pass);
    builder.close_layer("ssm", builder.layers(), 2);
  } else {
    if (builder.has(kLatent)) {
      add_latent_attention(builder, pass);
    } else {
      add_attention(builder, pass);
    }
    close_attention(builder);
    add_feed_forward(builder, pass);
  }
  if (projected != builder.hidden()) {
    builder.weight("project_out", projected, "batch", builder.hidden(), 1);
  }
  const std::int64_t vocab = config.extent({"vocab_size"}, builder.of_class().vocab);
  builder.linear("lm_head", vocab, "batch", projected, 1, builder.has(kHeadBias));
  return {{"batch", pass.batch}, {"seq", pass.seq}, {"context", context ? Json(*context) : "seq"}};
}

void add_encoder_layers(Builder& builder, const std::string& seq, const std::string& tokens, const std::string& rows,
                        bool masked) {
  const std::int64_t hidden = builder.hidden(), heads = builder.heads(), layers = builder.layers();
  const std::int64_t head = hidden / heads;
  require_heads(builder, head);
  const std::int64_t ffn = builder.config().extent({"intermediate_size"}, builder.of_class().ffn);
  const std::string kind = builder.activation();
  const auto norm = [&](const std::string& part) {
    builder.vector(part + ".residual", "residual", tokens, hidden, layers);
    builder.vector(part + ".norm", "layer_norm", tokens, hidden, layers);
  };
  const std::int64_t projections = builder.product({3, hidden});
  builder.linear("attn.qkv", projections, tokens, hidden, layers, true);
  builder.vector("attn.split_heads", "copy", tokens, projections, layers);
  add_scores(builder, {seq, seq, times(heads, "batch"), rows}, head, head, layers, masked, false);
  builder.vector("attn.merge_heads", "copy", tokens, hidden, layers);
  builder.linear("attn.output", hidden, tokens, hidden, layers, true);
  norm("attn");
  builder.linear("ffn.intermediate", ffn, tokens, hidden, layers, true);
  builder.vector("ffn." + kind, kind, tokens, ffn, layers);
  builder.linear("ffn.output", hidden, tokens, ffn, layers, true);
  norm("ffn");
}

Json add_encoder(Builder& builder, OpenDims& dims) {
  const std::int64_t batch = dims.given("batch").value_or(kBatch);
  const std::int64_t seq = dims.given("seq").value_or(kSeqOfEncoder);
  builder.vector("embeddings", "embedding", kTokens, builder.hidden(), 1, Json::object({{"inputs", 3}}));
  builder.vector("embeddings.norm", "layer_norm", kTokens, builder.hidden(), 1);
  add_encoder_layers(builder, "seq", kTokens, times(builder.heads(), kTokens), true);
  builder.config().find("vocab_size");  // of the embedding, whose rows are read alone
  builder.config().note("{} sequences of {} tokens, without the head of a task", batch, seq);
  return {{"batch", batch}, {"seq", seq}};
}

Json add_vision(Builder& builder, OpenDims& dims) {
  ModelConfig& config = builder.config();
  const std::int64_t hidden = builder.hidden();
  constexpr std::int64_t kPatch = 16, kImage = 224, kChannels = 3;
  const std::int64_t patch = config.extent({"patch_size"}, kPatch);
  const std::int64_t image = config.extent({"image_size"}, kImage);
  const std::int64_t side = image / patch;
  if (side == 0) {
    (config.place() / "patch_size").fail("patches of this size do not fit the image");
  }
  builder.add({{"name", "patch_embed"},
               {"conv",
                {{"N", "batch"},
                 {"C", config.extent({"num_channels"}, kChannels)},
                 {"H", image},
                 {"W", image},
                 {"K", hidden},
                 {"R", patch},
                 {"S", patch},
                 {"stride", {patch, patch}}}},
               {"dtype", builder.dtype()}});
  const std::int64_t tokens = builder.product({side, side}) + 1;
  const std::string rows = times(tokens, "batch");
  builder.vector("patch_embed.bias", "bias", times(tokens - 1, "batch"), hidden, 1);
  builder.vector("tokens", "copy", rows, hidden, 1);
  builder.vector("position", "residual", rows, hidden, 1);
  builder.vector("norm", "layer_norm", rows, hidden, 1);
  add_encoder_layers(builder, std::to_string(tokens), rows, times(builder.product({builder.heads(), tokens}), "batch"),
                     false);
  const nlohmann::json* const labels = config.find("id2label");
  if (labels != nullptr && labels->is_object() && !labels->empty()) {
    builder.linear("head", static_cast<std::int64_t>(labels->size()), "batch", hidden, 1, true);
  }
  return Json::object({{"batch", dims.given("batch").value_or(kBatch)}});
}

void read_config(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  constexpr std::size_t kMaxBytes = 4 << 20;
  const nlohmann::json document = io::parse_json(input.rest(kMaxBytes), input.name());
  const io::JsonObject root(document, {input.name(), ""});
  ModelConfig config(root);
  OpenDims dims(options.dims, input.name());
  Builder builder(config);
  const Family family = config.of_class().family;
  const Json declared = family == Family::kEncoder  ? add_encoder(builder, dims)
                        : family == Family::kVision ? add_vision(builder, dims)
                                                    : add_decoder(builder, dims);
  dims.refuse_unused();
  recording.account.add_notes(std::move(config).notes());
  recording.account.notes.emplace_back("A is the weight of each layer, as the model defines it");
  recording.parametric = builder.workload(io::printable(root.text("model_type")), declared).dump();
  const std::filesystem::path file = recording.workload.file;
  const std::string source = recording.workload.source;
  recording.workload = parse_workload_json(recording.parametric, input.name() + ": as a workload");
  recording.workload.file = file;
  recording.workload.source = source;
}

}  // namespace

const Reader kTransformerConfig{"model configuration of Hugging Face",
                                [](const Head& head) { return head.has("model_type"); }, read_config, true};

}  // namespace sptc::workload::topology
