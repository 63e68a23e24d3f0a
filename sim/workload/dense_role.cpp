// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/dense_role.h"

#include "models/base/text.h"
#include "sim/io/regular_expression.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <re2/re2.h>

namespace sptc::workload {
namespace {

struct Role {
  std::string_view name;
  /// An expression of RE2, but "<" and ">" are the begin and the end of a part of a name between
  /// dots and slashes, and "$" is the end of the name but for parts that name no layer:
  /// "lm_head.weight" and "/lm_head/MatMul_Q4" end in lm_head.
  std::string_view expression;
};

/// Roles in the order in which they are tried.
constexpr Role kRoles[] = {
    {"bias", "(<|_)bias(es)?$"},
    {"scale", "(<|_)(scales?|scale_inv|scale_[0-9]|zeros?|zero_points?|absmax|scale_shift_table)$"},
    {"head",
     "<(lm_head|lm_loss|embed_out|output_layer|qa_outputs|vocab_projector|cls[./](predictions|seq)"
     "|[a-z_]*classifier)(>|_)|<([a-z_]*[a-z]_)?(head([./"
     "]fc)?|logits)$|<score$|^(model[.])?proj_out$"
     "|^output[.]weight$"},
    {"embedding",
     "embed|<(wte|wpe|[a-z_]*_emb|emb|emb_l)>|<(rel_)?pos(ition)?(_[a-z_]*)?>"
     "|<([a-z]+_)?(cls|mask|dist|class)_token|relative_(attention|position)_bias"
     "|^((en|de)coder[.]|model[.])?shared$"},
    {"router", "<([a-z_]*router[a-z_]*|gating|gate_inp|ffn_gate_inp)>|<(gate|shared_expert_gate)$"},
    {"state matrix",
     "<(A_logs?|A_real|A_imag|dt_projs?|conv_?1d|dt_bias|ssm_(a|d|dt|conv1d)|time_(decay|first|"
     "faaaa"
     "|ma[ax]_?[a-z_0-9]*|mix_?[a-z_0-9]*))>|[./](?-i:Ds?)$"},
    {"norm", "<[a-z_0-9]*norm[a-z_0-9]*$"},
};

std::string expanded(std::string_view expression) {
  std::string text(expression);
  RE2::GlobalReplace(&text, "<", "(?:^|[./])");
  RE2::GlobalReplace(&text, ">", R"((?:\\z|[./]))");
  RE2::GlobalReplace(&text, "[$]", R"((?:[./](?:weight|kernel|wg|matmul|gemm|conv)[a-z_0-9]*)*\\z)");
  return "(?i)" + text;
}

}  // namespace

bool asp_eligible(const Operation& op) {
  const std::int64_t filters = op.conv ? op.conv->k : op.shape.m;
  const std::int64_t channels = op.conv ? op.conv->c / op.conv->groups : op.shape.k;
  return filters % 8 == 0 && channels % 16 == 0;
}

std::string_view dense_role(const std::string& name) {
  struct Expression {
    std::string_view role;
    io::RegularExpression expression;
  };
  static const auto kExpressions = [] {
    std::vector<std::unique_ptr<const Expression>> all;
    for (const Role& role : kRoles) {
      all.emplace_back(new Expression{role.name, {"", expanded(role.expression)}});
    }
    return all;
  }();
  const auto found =
      std::ranges::find_if(kExpressions, [&](const auto& one) { return one->expression.found_in(name); });
  return found == kExpressions.end() ? std::string_view() : (*found)->role;
}

bool is_two_of_four(const Operation& op) {
  constexpr std::size_t kGroup = 4;
  if (!op.values || op.shape.k % static_cast<std::int64_t>(kGroup) != 0) {
    return false;
  }
  for (std::int64_t batch = 0; batch < op.batch; ++batch) {
    for (std::int64_t row = 0; row < op.shape.m; ++row) {
      const std::vector<float> values = op.values->row(batch, row);
      for (std::size_t at = 0; at < values.size(); at += kGroup) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
        if (std::count(first, first + kGroup, 0.0F) < 2) {
          return false;
        }
      }
    }
  }
  return true;
}

std::string_view dense_role(const Operation& op) {
  const bool tuned = op.tensors && !op.tensors->sparse_weight.empty();
  const std::string_view role = !op.weight || op.recorded.sparse || tuned ? std::string_view() : dense_role(op.name);
  return !role.empty() && is_two_of_four(op) ? std::string_view() : role;
}

std::string keep_dense_by_role(const std::string& include, std::vector<Operation>& operations) {
  constexpr std::size_t kNameBytes = 60;
  const io::RegularExpression wanted("--include", include);
  std::map<std::string_view, std::pair<std::string, int>> left;  // the first of a role, and how many
  for (Operation& op : operations) {
    const std::string_view role = op.prunable ? dense_role(op) : std::string_view();
    if (role.empty() || (!include.empty() && wanted.found_in(op.name))) {
      continue;
    }
    op.prunable = false;
    auto& [first, count] = left[role];
    first = count++ == 0 ? io::printable(base::shortened(op.name, kNameBytes)) : first;
  }
  std::string text;
  for (const auto& [role, row] : left) {
    text += fmt::format("{}{} '{}'{}", text.empty() ? "" : ", ", role, row.first,
                        row.second > 1 ? fmt::format(" and {} more", row.second - 1) : "");
  }
  return text.empty()
             ? text
             : "weights that stay dense by their names: " + text + "; --include REGEX prunes those that it finds";
}

}  // namespace sptc::workload
