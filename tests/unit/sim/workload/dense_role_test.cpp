// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/dense_role.h"

#include "tests/support/expect_input_error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sptc::workload {
namespace {

TEST(DenseRole, IsToldByNamesOfCheckpointsGraphsAndOperations) {
  const struct {
    std::string_view role;
    std::vector<std::string> names;
  } rows[] = {
      {"head",
       {"lm_head", "lm_head.weight", "/lm_head/MatMul_Q4", "lm_head.linear.weight", "score.weight",
        "classifier.1.weight", "classifier.dense.weight", "head", "head.fc.weight", "heads.head.weight",
        "output.weight", "transformer.output_layer.weight", "embed_out.weight", "cls.predictions.decoder.weight",
        "qa_outputs.weight", "model.shared_head.head.weight", "proj_out.weight", "bert/classifier/MatMul",
        "/head/cls_logits/Conv"}},
      {"embedding",
       {"model.embed_tokens.weight", "wte.weight", "transformer.wpe.weight", "pos_embed", "cls_token",
        "bert.embeddings.position_embeddings.weight", "shared.weight", "patch_embed.proj.weight", "tok_emb.weight",
        "emb_l.0.weight", "layers.0.attn.relative_position_bias_table"}},
      {"router",
       {"model.layers.3.mlp.gate.weight", "block_sparse_moe.gate.weight", "moe.router",
        "/model/layers.0/mlp/gate/MatMul", "mlp.shared_expert_gate.weight", "layers.0.feed_forward.router.weight",
        "blk.0.ffn_gate_inp.weight", "mlp.gate.wg.weight"}},
      {"state matrix",
       {"backbone.layers.0.mixer.A_log", "mixer.D", "mixer.dt_proj.weight", "mixer.conv1d.weight",
        "linear_attn.conv1d.weight", "blocks.0.att.time_decay"}},
      {"norm", {"model.norm.weight", "layers.0.input_layernorm.weight", "q_norm.weight"}},
      {"bias", {"fc.bias", "gate_up_proj_bias", "mlp.gate.e_score_correction_bias", "experts.down_proj_bias"}},
      {"scale", {"w.weight_scale", "up_proj.weight_scale_inv", "w.scales", "w.weight_zero_point"}},
      {"",
       {"model.layers.0.mlp.gate_proj.weight", "mlp.gate_up", "mlp.experts.gate_up_proj", "fc1", "attn.output",
        "attention.output.dense.weight", "attn.scores", "blk.0.ffn_gate.weight", "head.cls.p3.conv0",
        "mixer.in_proj.weight", "in_proj", "norm1.linear.weight", "attn.o_proj.weight", "/h.0/attn/c_attn/MatMul",
        "conv1.weight", "D", "upscale.weight", "multihead.q.weight", "attentions.0.proj_out.weight"}},
  };
  for (const auto& row : rows) {
    for (const std::string& name : row.names) {
      EXPECT_EQ(dense_role(name), row.role) << name;
    }
  }
}

Operation weight(const std::string& name) {
  Operation op;
  op.name = name;
  op.shape = {64, 64, 64};
  op.prunable = true;
  return op;
}

TEST(DenseRole, KeepsOperationsDenseAndSaysWhich) {
  std::vector<Operation> operations{weight("mlp.down"), weight("lm_head"), weight("a.router"), weight("b.router")};
  EXPECT_EQ(keep_dense_by_role("", operations),
            "weights that stay dense by their names: head 'lm_head', router 'a.router' and 1 more; "
            "--include REGEX prunes those that it finds");
  EXPECT_TRUE(operations[0].prunable);
  EXPECT_FALSE(operations[1].prunable || operations[2].prunable || operations[3].prunable);
}

TEST(DenseRole, TakesWhatIsIncludedAndWhatIsSparseAlready) {
  std::vector<Operation> operations{weight("lm_head"), weight("score"), weight("head")};
  operations[1].recorded.sparse = true;
  operations[2].tensors = LayerTensors{"w", "", "w.sparse", ""};
  EXPECT_EQ(keep_dense_by_role("lm_.ead", operations), "");
  for (const Operation& op : operations) {
    EXPECT_TRUE(op.prunable) << op.name;
  }
  support::expect_input_error([&] { keep_dense_by_role("(", operations); }, {"--include '('"});
}

}  // namespace
}  // namespace sptc::workload
