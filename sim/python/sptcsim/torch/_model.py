# SPDX-License-Identifier: Apache-2.0
"""What runs: names of weights and of the module that is running; and which kernels of PyTorch stay off."""
import contextlib

import torch
from torch.nn.modules import module as torch_modules


def storage_of(tensor):
    """What a tensor and its views share, also without memory (device "meta"). Keep it: its key may be used anew."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()


def has_storage(tensor):
    """Whether storage_of() works: not for sparse tensors and other containers."""
    return tensor.layout == torch.strided and not getattr(tensor, "is_nested", False)


def layer_name(parameter):
    """The layer of a parameter: "fc1" of "fc1.weight", "attn.in_proj" of "attn.in_proj_weight"."""
    return parameter.removesuffix("weight").rstrip("._")


class RunningModel:
    """Follows the modules that run, by hooks on all of them, from start() to stop()."""

    def __init__(self, model=None):
        self._model = model if isinstance(model, torch.nn.Module) else None
        self._weights = {}  # key of a storage: (name of the layer, the storage, whether a model has it)
        self._paths = {}  # module: its name in the outermost one
        self._outermost = None
        self._running = []
        self._hooks = []

    def start(self):
        self._learn(None)
        self._hooks = [torch_modules.register_module_forward_pre_hook(lambda module, _: self._enter(module)),
                       torch_modules.register_module_forward_hook(lambda module, *_: self._leave(module))]

    def stop(self):
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._running.clear()
        self._weights.clear()
        self._paths.clear()

    def _learn(self, outermost):
        """Names modules and weights anew: a parameter may have got other memory since the last pass."""
        self._outermost = outermost
        self._weights.clear()
        self._paths.clear()
        for root in (self._model, outermost):
            if root is None:
                continue
            for name, module in root.named_modules():
                self._paths.setdefault(module, name)
            for name, weight in [*root.named_parameters(), *root.named_buffers()]:
                if not isinstance(weight, torch.nn.parameter.UninitializedTensorMixin):
                    self._know(weight, layer_name(name) or type(root).__name__, True)

    def _know(self, tensor, name, owned):
        if tensor.dim() >= 2 and has_storage(tensor):
            storage = storage_of(tensor)
            self._weights.setdefault(storage._cdata, (name, storage, owned))

    def _enter(self, module):
        if not self._running or module is self._outermost:
            self._running.clear()  # of what an exception left behind
            self._learn(module)
        self._running.append(module)

    def _leave(self, module):
        while self._running and self._running.pop() is not module:
            pass

    def path(self):
        """Name of the module that runs; of the outermost its class."""
        if not self._running:
            return "model"
        return self._paths.get(self._running[-1]) or type(self._running[-1]).__name__

    def layer_of(self, tensor):
        """The layer whose weight `tensor` is, or a view of it, or was made from; None for any other tensor."""
        known = self._weights.get(storage_of(tensor)._cdata) if has_storage(tensor) else None
        return known[0] if known else None

    def owns(self, tensor):
        """Whether `tensor` is a weight, or a view of it: one that the next pass will find in the same place."""
        return has_storage(tensor) and self._weights.get(storage_of(tensor)._cdata, (None, None, False))[2]

    def follow(self, inputs, output):
        """What is made of weights alone is one: casts, normalised weights, the sum with a low-rank update."""
        if inputs and isinstance(output, torch.Tensor):
            names = [self.layer_of(tensor) for tensor in inputs]
            if None not in names:
                self._know(output, names[0], False)


@contextlib.contextmanager
def plain_kernels():
    """Switches off the kernels of the host that fuse products with what surrounds them."""
    with contextlib.ExitStack() as stack:
        if hasattr(torch.backends, "mha"):
            before = torch.backends.mha.get_fastpath_enabled()
            torch.backends.mha.set_fastpath_enabled(False)
            stack.callback(torch.backends.mha.set_fastpath_enabled, before)
        else:  # a mode of this kind has the same effect
            stack.enter_context(_NoFastPath())
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        attention = getattr(torch.nn, "attention", None)
        if hasattr(attention, "sdpa_kernel"):
            stack.enter_context(attention.sdpa_kernel(attention.SDPBackend.MATH))
            if hasattr(torch.backends.cuda, "allow_fp16_bf16_reduction_math_sdp"):  # else it multiplies in float32
                stack.callback(torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp,
                               torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed())
                torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
        elif hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            stack.enter_context(torch.backends.cuda.sdp_kernel(enable_flash=False, enable_mem_efficient=False))
        yield


class _NoFastPath(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
