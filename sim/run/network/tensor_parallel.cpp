// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/tensor_parallel.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "sim/io/text_file.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/expert_shares.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::run::network {
namespace {

using workload::Cut;
using workload::Operation;
using workload::VectorKind;
using workload::VectorOperation;

/// The heads of an attention: of its queries, and of the keys and values that those share.
struct Heads {
  std::int64_t queries = 1, keys = 1;
  std::int64_t depth = 1;  ///< features of a key
};

/// Whether the weight compresses tokens for all heads of latent attention (DeepSeek-AI,
/// DeepSeek-V2, arXiv 2405.04434): by the names of the lists here, of Hugging Face and of SGLang.
bool compresses(const Operation& op) {
  constexpr std::string_view kNames[] = {"q_a",   "q_a_proj",        "kv_a", "kv_a_proj", "kv_a_proj_with_mqa",
                                         "qkv_a", "fused_qkv_a_proj"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view part) { return workload::has_part(op.name, part); });
}

/// What stands where in a network.
class Layers {
 public:
  Layers(const std::vector<Operation>& gemms, const std::vector<VectorOperation>& vectors, std::int64_t inputs)
      : gemms_(gemms), vectors_(vectors), inputs_(inputs), routes_(gemms.size()), ends_(gemms.size()) {
    const auto repeats = [](const Operation& op) { return op.count > 1; };
    first_ = static_cast<std::size_t>(std::find_if(gemms.begin(), gemms.end(), repeats) - gemms.begin());
    end_ = static_cast<std::size_t>(gemms.rend() - std::find_if(gemms.rbegin(), gemms.rend(), repeats));
    const auto says = [](const Operation& op) { return op.cut.has_value(); };
    if (end_ == 0 && std::any_of(gemms.begin(), gemms.end(), says)) {
      first_ = 0;  // the list of one layer
      end_ = gemms.size();
    }
    for (const VectorOperation& op : vectors) {
      if (op.after > 0) {
        routes_[op.after - 1] = routes_[op.after - 1] || op.kind == VectorKind::kRouting;
        ends_[op.after - 1] = ends_[op.after - 1] || op.kind == VectorKind::kResidual;
      }
    }
  }

  const Operation& operator[](std::size_t i) const { return gemms_[i]; }
  std::size_t size() const { return gemms_.size(); }

  /// A layer is there several times, and what stands among such layers is of one, too: a dense
  /// layer of a network of experts.
  bool in_layer(std::size_t i) const { return first_ <= i && i < end_; }

  /// Whether GEMM `i` makes of what the last layer leaves more than it reads: a vocabulary.
  bool is_output(std::size_t i) const {
    const Operation& op = gemms_[i];
    return i >= end_ && op.weight && !op.conv && op.shape.m > op.shape.k;
  }

  /// Whether GEMM `i` chooses experts, which every GPU does for itself.
  bool is_router(std::size_t i) const {
    const Operation& op = gemms_[i];
    return routes_[i] || (op.shape.m < op.shape.k && workload::dense_role(op.name) == "router");
  }

  /// The first product of activations to which what weight `i` writes comes through weights alone;
  /// size() where there is none.
  std::size_t product_behind(std::size_t i) const {
    for (; i < size() && gemms_[i].weight; ++i) {
      if (ends_[i]) {
        return size();
      }
    }
    return i;
  }

  /// The heads of the attention whose first product is `i`, of `tokens`; nothing where it is none,
  /// or where they cannot be told.
  std::optional<Heads> heads_at(std::size_t i, std::int64_t tokens) const {
    const Operation& scores = gemms_[i];
    if (i + 1 >= size() || gemms_[i + 1].weight || gemms_[i + 1].batch != scores.batch ||
        gemms_[i + 1].shape.k != scores.shape.m) {
      return std::nullopt;
    }
    const bool known = inputs_ > 0 && scores.batch % inputs_ == 0;
    const std::int64_t keys = known ? scores.batch / inputs_ : scores.batch;
    const std::int64_t rows = scores.batch * scores.shape.n;
    const std::int64_t queries = rows % tokens == 0 ? rows / tokens : keys;
    if (queries % keys != 0 || queries > workload::kMaxExtent) {
      return std::nullopt;
    }
    return Heads{queries, keys, scores.shape.k};
  }

  /// Features of a token in the cache that is written between GEMMs `i` and `end`; 0: none is.
  std::int64_t cached(std::size_t i, std::size_t end) const {
    const auto found = std::find_if(vectors_.begin(), vectors_.end(), [&](const VectorOperation& op) {
      return op.kind == VectorKind::kKvAppend && i < op.after && op.after <= end;
    });
    return found == vectors_.end() ? 0 : found->columns;
  }

 private:
  const std::vector<Operation>& gemms_;
  const std::vector<VectorOperation>& vectors_;
  std::int64_t inputs_;
  std::vector<bool> routes_, ends_;  ///< whether a routing or a residual stands behind the GEMM
  std::size_t first_ = 0, end_ = 0;  ///< of those in layers
};

/// Goes through the operations in the order of the list.
class Splitter {
 public:
  Splitter(const std::vector<Operation>& gemms, const std::vector<VectorOperation>& vectors, int gpus,
           std::int64_t inputs)
      : layers_(gemms, vectors, inputs), vectors_(vectors), gpus_(gpus) {}

  GpuPart take() && {
    std::size_t next = 0;
    for (std::size_t i = 0; i <= layers_.size(); ++i) {
      while (next < vectors_.size() && vectors_[next].after <= i) {
        add(vectors_[next++]);
      }
      if (i < layers_.size()) {
        add_gemm(i);
      }
    }
    add_pending();
    if (sums_ == 0) {
      throw base::InputError("--tp splits the layers of transformers, and the workload has none");
    }
    return std::move(part_);
  }

 private:
  /// What a GPU has of a weight.
  enum class Share {
    kWhole,
    kRows,
    kColumns,
    kHeads,  ///< of the batch: each head has a weight of its own
  };

  std::int64_t divided(std::int64_t extent, const std::string& name, const char* what) const {
    if (extent % gpus_ != 0) {
      io::refuse("--tp {}: {} = {} of '{}' cannot be divided by it", gpus_, what, extent, io::printable(name));
    }
    return extent / gpus_;
  }

  void add_gemm(std::size_t i) {
    const Operation& op = layers_[i];
    if (pending_ && (!op.weight || op.count != pending_->count || !layers_.in_layer(i))) {
      add_pending();
    }
    if (!layers_.in_layer(i)) {
      add_outside(i);
    } else if (op.weight) {
      add_weight(i);
    } else {
      add_product(op);
    }
  }

  void add_outside(std::size_t i) {
    Operation op = layers_[i];
    const Cut cut = op.cut.value_or(layers_.is_output(i) ? Cut::kM : Cut::kNone);
    if (!op.weight || cut == Cut::kNone) {
      part_.gemms.push_back(std::move(op));
      return;
    }
    const std::int64_t tokens = op.shape.n * op.batch, features = op.shape.m;
    if (cut == Cut::kM) {
      op.shape.m = base::ceil_div(features, gpus_);  // a vocabulary is padded
    } else {
      op.shape.k = divided(op.shape.k, op.name, "k");
    }
    part_.gemms.push_back(op);
    const bool gathers = cut == Cut::kM;
    add_communication(op.name, gathers ? VectorKind::kAllGather : VectorKind::kAllReduce, tokens, features, op.count);
  }

  /// Both products of attention, cut along heads: those of keys, of which a GPU has at least one,
  /// and the queries of each.
  void add_product(const Operation& whole) {
    Operation op = whole;
    if (heads_ && op.batch % heads_->keys == 0) {
      const std::int64_t own = own_keys();
      op.batch = op.batch / heads_->keys * own;
      op.shape.n = op.shape.n * heads_->keys / (gpus_ * own);
    } else if (op.batch % gpus_ != 0 && op.shape.n % gpus_ == 0) {
      op.shape.n /= gpus_;
    } else {
      op.batch = divided(op.batch, op.name, "batch");
    }
    part_.gemms.push_back(std::move(op));
    open_ = attended_ = true;
  }

  void add_weight(std::size_t i) {
    Operation op = layers_[i];
    const std::size_t product = layers_.product_behind(i);
    const bool before = product < layers_.size();
    if (!open_) {
      tokens_ = op.shape.n * op.batch;
    }
    if (before && product != product_) {
      begin_attention(product, op.shape.n);
    }
    compressed_ = compressed_ || compresses(op);
    const Share part = share_of(i, before);
    const std::int64_t features = op.shape.m;
    if (part == Share::kWhole) {
      op.shape.m = rows_beside_cache(i, product);
      open_ = open_ || op.shape.m < features;
    } else if (part == Share::kRows) {
      op.shape.m = rows_of(op, before);
      opened_ = i;
    } else if (part == Share::kColumns) {
      op.shape.k = divided(op.shape.k, op.name, "k");
    } else {
      op.batch = divided(op.batch, op.name, "batch");
    }
    features_ = {features, op.shape.m};
    part_.gemms.push_back(op);
    part_of_ = op.part_of;
    last_ = part;
    if (part == Share::kColumns) {
      sum_up(op);
    } else {
      open_ = open_ || part != Share::kWhole;
    }
  }

  void begin_attention(std::size_t product, std::int64_t tokens) {
    product_ = product;
    compressed_ = false;
    heads_ = layers_.heads_at(product, tokens);
    if (heads_ && (heads_->queries % gpus_ != 0 || (heads_->keys % gpus_ != 0 && gpus_ % heads_->keys != 0))) {
      io::refuse("--tp {}: {} heads of '{}', which share {} of keys, cannot be divided by it", gpus_, heads_->queries,
                 io::printable(layers_[product].name), heads_->keys);
    }
  }

  /// `before`: the weight stands before the products of an attention.
  Share share_of(std::size_t i, bool before) const {
    const Operation& op = layers_[i];
    if (op.cut) {
      return *op.cut == Cut::kNone ? Share::kWhole : *op.cut == Cut::kM ? Share::kRows : Share::kColumns;
    }
    if (op.conv || compresses(op) || layers_.is_router(i)) {
      return Share::kWhole;
    }
    if ((before || attended_) && op.batch > 1 && !workload::is_expert(op)) {
      return Share::kHeads;
    }
    if (before || attended_) {
      return before ? Share::kRows : Share::kColumns;
    }
    if (!op.part_of.empty() && op.part_of == part_of_) {
      return last_;  // another expert, as the one before
    }
    return open_ && !is_beside(op) ? Share::kColumns : Share::kRows;
  }

  /// Whether `op` reads what the last weight that was cut along its rows has read: a gate.
  bool is_beside(const Operation& op) const {
    const Operation& other = layers_[opened_];
    return op.input.empty() ? op.shape == other.shape && op.shape.m != op.shape.k && op.batch == other.batch
                            : op.input == other.input;
  }

  /// Heads of keys of a GPU.
  std::int64_t own_keys() const { return std::max<std::int64_t>(1, heads_->keys / gpus_); }

  /// Rows of a weight that is cut along them. Where there are fewer heads of keys than GPUs, its
  /// part has one of them, and of values, beside its queries.
  std::int64_t rows_of(const Operation& op, bool before) const {
    const std::int64_t rows = op.shape.m;
    if (before && heads_ && heads_->keys < gpus_) {
      const std::int64_t keys = heads_->keys * heads_->depth;
      const std::int64_t queries = heads_->queries * heads_->depth;
      if (rows == keys || rows == 2 * keys) {
        return rows / heads_->keys;
      }
      if (rows - 2 * keys == queries) {
        return queries / gpus_ + 2 * heads_->depth;
      }
    }
    return divided(rows, op.name, "m");
  }

  /// Rows of weight `i`, which is whole but for what it has beside the rows of a compressed cache:
  /// queries that nothing expands.
  std::int64_t rows_beside_cache(std::size_t i, std::size_t product) const {
    const Operation& op = layers_[i];
    const std::int64_t cached = layers_.cached(i, product);
    bool expanded = op.cut.has_value() || !compresses(op) || product == layers_.size();
    for (std::size_t next = i + 1; next < product && !expanded; ++next) {
      expanded = workload::has_part(layers_[next].name, "q_b") || workload::has_part(layers_[next].name, "q_b_proj");
    }
    return expanded || cached == 0 || cached >= op.shape.m
               ? op.shape.m
               : divided(op.shape.m - cached, op.name, "m beside the cache") + cached;
  }

  /// The sum over all GPUs behind weight `op`, the second of two. That of experts waits for what
  /// adds up those of a token, and is that of a shared expert where there is one.
  void sum_up(const Operation& op) {
    open_ = attended_ = compressed_ = false;
    heads_.reset();
    ++sums_;
    if (workload::is_expert(op)) {
      VectorOperation sum = communication(op.part_of.empty() ? op.name : op.part_of, VectorKind::kAllReduce,
                                          routed_ > 0 ? routed_ : op.shape.n * op.batch, op.shape.m, op.count);
      pending_ = std::move(sum);
      return;
    }
    pending_.reset();
    add_communication(op.name, VectorKind::kAllReduce, op.shape.n * op.batch, op.shape.m, op.count);
  }

  VectorOperation communication(const std::string& name, VectorKind kind, std::int64_t rows, std::int64_t columns,
                                std::int64_t count) const {
    VectorOperation op;
    op.name = fmt::format("{}.{}", name, workload::name(kind));
    op.kind = kind;
    op.rows = rows;
    op.input_rows = kind == VectorKind::kAllGather ? base::ceil_div(rows, gpus_) : rows;
    op.columns = columns;
    op.count = count;
    return op;
  }

  void add_communication(const std::string& name, VectorKind kind, std::int64_t rows, std::int64_t columns,
                         std::int64_t count) {
    pending_ = communication(name, kind, rows, columns, count);
    add_pending();
  }

  void add_pending() {
    if (pending_) {
      pending_->after = part_.gemms.size();
      part_.vectors.push_back(*std::exchange(pending_, std::nullopt));
    }
  }

  void add(const VectorOperation& whole) {
    VectorOperation op = whole;
    if (pending_ && (op.kind == VectorKind::kResidual || normalises(op))) {
      add_pending();
    }
    if (op.kind == VectorKind::kRouting) {
      routed_ = op.rows;
    }
    if (open_) {
      share(op);
    }
    part_.vectors.push_back(op);
    if (op.kind == VectorKind::kEmbedding) {
      add_communication(op.name, VectorKind::kAllReduce, op.rows, op.columns, op.count);
    }
  }

  static bool normalises(const VectorOperation& op) {
    return workload::info(op.kind).group == workload::WorkGroup::kNormalisation;
  }

  /// Between the two weights each GPU has its heads or columns.
  void share(VectorOperation& op) const {
    const bool by_head =
        op.kind == VectorKind::kSoftmax || op.kind == VectorKind::kScale || op.kind == VectorKind::kMask;
    const std::int64_t rows = op.rows;
    if (by_head) {
      op.rows = divided(rows, op.name, "rows");
    } else if (normalises(op) && rows > tokens_) {
      op.rows = of_heads(rows, op.name, "rows");  // of queries and keys
    } else if (op.kind == VectorKind::kRotary) {
      op.columns = of_heads(op.columns, op.name, "columns");
    } else if (op.kind == VectorKind::kKvAppend && heads_) {
      op.columns = compressed_ ? op.columns : base::ceil_div(op.columns, heads_->keys) * own_keys();
    } else if (op.columns == features_.whole) {
      op.columns = features_.own;
    } else if (!normalises(op) || !compressed_) {
      op.columns = divided(op.columns, op.name, "columns");
    }
    op.input_rows = op.input_rows == rows ? op.rows : op.input_rows;
  }

  /// The part of a GPU of what all heads of queries and of keys share.
  std::int64_t of_heads(std::int64_t extent, const std::string& name, const char* what) const {
    if (!heads_) {
      return divided(extent, name, what);
    }
    const std::int64_t keys = compressed_ ? 1 : heads_->keys;
    const std::int64_t own = compressed_ ? 1 : own_keys();
    return base::ceil_div(extent * (heads_->queries / gpus_ + own), heads_->queries + keys);
  }

  struct Features {
    std::int64_t whole = 0, own = 0;
  };

  const Layers layers_;
  const std::vector<VectorOperation>& vectors_;
  std::int64_t gpus_;
  bool open_ = false;        ///< between the two weights of a pair
  bool attended_ = false;    ///< behind products of activations, before the next weight
  bool compressed_ = false;  ///< the cache of the attention is the same for all heads
  std::optional<Heads> heads_;
  std::size_t product_ = 0;  ///< the first of that attention
  std::size_t opened_ = 0;   ///< the last weight that was cut along its rows
  Features features_;        ///< that the last weight writes
  std::int64_t tokens_ = 0;  ///< that the first weight of a pair reads
  std::int64_t routed_ = 0;  ///< tokens that the last router has seen
  std::string part_of_;      ///< of the last weight, where experts share tokens
  Share last_ = Share::kWhole;
  std::optional<VectorOperation> pending_;  ///< the sum of experts
  int sums_ = 0;
  GpuPart part_;
};

}  // namespace

GpuPart split_over(const std::vector<Operation>& gemms, const std::vector<VectorOperation>& vectors, int gpus,
                   std::int64_t inputs) {
  return gpus == 1 ? GpuPart{gemms, vectors} : Splitter(gemms, vectors, gpus, inputs).take();
}

}  // namespace sptc::run::network
