// SPDX-License-Identifier: Apache-2.0
#include "sim/run/network/expert_parallel.h"

#include "models/base/error.h"
#include "models/base/shape.h"
#include "sim/io/text_file.h"
#include "sim/workload/expert_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::run::network {
namespace {

using workload::Operation;
using workload::VectorKind;
using workload::VectorOperation;

/// Goes through the operations in the order of the list.
class Sharing {
 public:
  Sharing(const std::vector<Operation>& gemms, const std::vector<VectorOperation>& vectors, int gpus)
      : gemms_(gemms), vectors_(vectors), gpus_(gpus) {}

  GpuPart take() && {
    std::size_t next = 0;
    for (std::size_t i = 0; i <= gemms_.size();) {
      while (next < vectors_.size() && vectors_[next].after <= i) {
        add(vectors_[next++]);
      }
      i = i < gemms_.size() ? add_gemm(i) : i + 1;
    }
    send_back();
    if (!any_experts_) {
      throw base::InputError("--ep shares the experts of a mixture out over GPUs, and the workload has none");
    }
    return std::move(part_);
  }

 private:
  std::int64_t divided(std::int64_t extent, const std::string& name, const char* what) const {
    if (extent % gpus_ != 0) {
      io::refuse("--ep {}: {} {} of '{}' cannot be divided by it", gpus_, extent, what, io::printable(name));
    }
    return extent / gpus_;
  }

  /// Adds GEMM `i`, of experts all that share its tokens; returns what follows.
  std::size_t add_gemm(std::size_t i) {
    if (workload::is_expert(gemms_[i])) {
      return add_experts(i);
    }
    send_back();
    Operation op = gemms_[i];
    if (op.conv) {
      op.conv->n = divided(op.conv->n, op.name, "inputs");
    }
    std::int64_t& tokens = op.weight ? op.shape.n : op.batch;
    tokens = divided(tokens, op.name, op.weight ? "tokens" : "products");
    part_.gemms.push_back(std::move(op));
    return i + 1;
  }

  std::size_t add_experts(std::size_t first) {
    Operation op = gemms_[first];
    std::size_t end = first + 1;
    std::int64_t named = op.batch;
    std::int64_t copies = op.batch * op.shape.n;
    for (; end < gemms_.size() && !op.part_of.empty() && gemms_[end].part_of == op.part_of; ++end) {
      named += gemms_[end].batch;
      copies += gemms_[end].batch * gemms_[end].shape.n;
    }
    op.name = op.part_of.empty() ? op.name : op.part_of;
    const std::int64_t experts = std::max(routed_among_, named);
    divided(experts, op.name, "experts");
    const std::int64_t with_tokens = std::min(experts, copies);
    op.shape.n = base::ceil_div(copies, with_tokens);
    op.batch = divided(with_tokens, op.name, "experts with tokens");
    if (!back_) {
      any_experts_ = true;
      send(op, "dispatch", op.shape.k);
    }
    back_ = op;
    part_.gemms.push_back(std::move(op));
    return end;
  }

  void add(VectorOperation op) {
    if (op.kind == VectorKind::kResidual || workload::info(op.kind).group == workload::WorkGroup::kNormalisation) {
      send_back();
    }
    if (op.kind == VectorKind::kRouting) {
      routed_among_ = op.columns;
    }
    op.after = part_.gemms.size();  // the list may have several operations for experts
    op.rows = divided(op.rows, op.name, "rows");
    op.input_rows = divided(op.input_rows, op.name, "rows");
    part_.vectors.push_back(std::move(op));
  }

  void send_back() {
    if (back_) {
      const Operation last = *std::exchange(back_, std::nullopt);
      send(last, "combine", last.shape.m);
    }
  }

  /// What the copy before has gathered for the experts, or of their results, else one row for each
  /// of their tokens: those may be rounded up.
  void send(const Operation& experts, std::string_view what, std::int64_t columns) {
    VectorOperation op;
    op.name = fmt::format("{}.{}", experts.name, what);
    op.kind = VectorKind::kAllToAll;
    op.after = part_.gemms.size();
    op.columns = columns;
    op.count = experts.count;
    const VectorOperation* const before = part_.vectors.empty() ? nullptr : &part_.vectors.back();
    const bool gathered = before != nullptr && before->after == op.after && before->kind == VectorKind::kCopy &&
                          before->columns == columns;
    op.rows = op.input_rows = gathered ? before->rows : experts.shape.n * experts.batch;
    part_.vectors.push_back(std::move(op));
  }

  const std::vector<Operation>& gemms_;
  const std::vector<VectorOperation>& vectors_;
  std::int64_t gpus_;
  std::int64_t routed_among_ = 0;  ///< experts that the last router chooses among; 0: not known
  bool any_experts_ = false;
  std::optional<Operation> back_;  ///< the experts whose results are still where they lie
  GpuPart part_;
};

}  // namespace

GpuPart share_out_experts(const std::vector<Operation>& gemms, const std::vector<VectorOperation>& vectors, int gpus,
                          std::int64_t inputs) {
  if (inputs % gpus != 0 || inputs == 0) {
    throw base::InputError(inputs == 0 ? "--ep gives each GPU a part of the sequences, and the workload does not say "
                                         "how many it has"
                                       : fmt::format("--ep {}: {} sequence{} cannot be divided by it; attention is "
                                                     "not split, each GPU has sequences of its own",
                                                     gpus, inputs, inputs == 1 ? "" : "s"));
  }
  return Sharing(gemms, vectors, gpus).take();
}

}  // namespace sptc::run::network
