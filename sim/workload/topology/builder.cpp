// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/topology/builder.h"

#include "sim/workload/launch_list.h"
#include "sim/workload/workload_text.h"

namespace sptc::workload::topology {

std::string times(std::int64_t factor, const std::string& dims) {
  return factor == 1 ? dims : fmt::format("{}*{}", factor, dims);
}

Builder::Builder(ModelConfig& config)
    : config_(config),
      class_(config.of_class()),
      layers_(config.extent({"num_hidden_layers", "n_layer"}, class_.layers)),
      hidden_(config.extent({"hidden_size", "n_embd", "n_embed"}, class_.hidden)),
      heads_(class_.family == Family::kStateSpace ? config.extent({"num_heads"}, class_.heads)
                                                  : config.extent({"num_attention_heads", "n_head"}, class_.heads)),
      norm_(has(kLayerNorm) || class_.family == Family::kEncoder || class_.family == Family::kVision ? "layer_norm"
                                                                                                     : "rms_norm"),
      dtype_(config.dtype()),
      forms_(config, layers_) {}

std::int64_t Builder::product(std::initializer_list<std::int64_t> factors) const {
  const std::int64_t value = extent_product(factors);
  if (value == 0) {
    fail("a GEMM of these sizes has an extent above {}", kMaxExtent);
  }
  return value;
}

void Builder::weight(const std::string& name, std::int64_t m, const std::string& n, std::int64_t k, std::int64_t count,
                     const std::string& batch, const Json& more) {
  const WeightForm form = forms_.of(name, count);
  Json op = {{"name", name}, {"m", m}, {"n", n}, {"k", k}, {"batch", batch}, {"count", count}, {"dtype", form.dtype}};
  if (!form.weight_dtype.empty()) {
    op["weight_dtype"] = form.weight_dtype;
  }
  if (form.scale_block > 0) {
    op["scale_block"] = form.scale_block;
  }
  op.update(more);
  add(std::move(op));
}

void Builder::linear(const std::string& name, std::int64_t m, const std::string& n, std::int64_t k, std::int64_t count,
                     bool bias) {
  weight(name, m, n, k, count);
  if (bias) {
    vector(name + ".bias", "bias", n, m, count);
  }
}

void Builder::product_of_activations(const std::string& name, const Json& m, const Json& n, const Json& k,
                                     const std::string& batch, std::int64_t count) {
  add({{"name", name},
       {"m", m},
       {"n", n},
       {"k", k},
       {"batch", batch},
       {"count", count},
       {"dtype", dtype_},
       {"weight_operand", nullptr}});
}

void Builder::vector(const std::string& name, const std::string& kind, const std::string& rows, const Json& columns,
                     std::int64_t count, const Json& more) {
  Json op = {{"name", name}, {"kind", kind}, {"rows", rows}, {"columns", columns}, {"count", count}};
  op.update(more);
  add(std::move(op));
}

std::string Builder::activation() {
  const std::string name = config_.text({"hidden_act", "hidden_activation", "activation_function"}, class_.activation);
  return name == "silu" || name == "swish"                       ? "silu"
         : name == "relu" || name == "tanh" || name == "sigmoid" ? name
                                                                 : "gelu";
}

void Builder::close_layer(const std::string& name, std::int64_t layers, std::int64_t summands) {
  if (has(kPostNorms)) {
    vector(name + ".post_norm", norm_, kTokens, hidden_, layers);
  }
  constexpr std::int64_t kMost = 8;  // tensors that one operation reads
  std::int64_t inputs = summands + (has(kParallel) ? 1 : 0);
  for (; inputs > kMost; inputs -= kMost - 1) {
    vector(name + ".combine", "residual", kTokens, hidden_, layers, Json::object({{"inputs", kMost}}));
  }
  vector(name + ".residual", "residual", kTokens, hidden_, layers,
         inputs == 2 ? Json::object() : Json::object({{"inputs", inputs}}));
  vector(name + ".norm", norm_, kTokens, hidden_, layers);
}

Builder::Json Builder::workload(const std::string& name, const Json& dims) const {
  return {{"schema", kWorkloadSchema}, {"name", name}, {"dims", dims}, {"ops", ops_}};
}

}  // namespace sptc::workload::topology
