# SPDX-License-Identifier: Apache-2.0
"""Types of arguments, for programs that check them."""
import os
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence, Union

if TYPE_CHECKING:
    from ._architecture import Architecture

Array = Any  # of NumPy, of torch on the CPU, or with __dlpack__
Path = Union[str, "os.PathLike[str]"]
Arch = Union[Path, "Architecture"]
Progress = Callable[[int, int, str], object]
Sparse = Union[None, bool, str]
Option = Union[None, bool, int, float, str, Sequence[int]]
Spec = Union[Path, Mapping[str, Any]]

__all__ = ["Any", "Arch", "Array", "Callable", "Iterator", "Mapping", "Option", "Path", "Progress", "Sequence", "Sparse", "Spec"]
