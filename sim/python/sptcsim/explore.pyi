# SPDX-License-Identifier: Apache-2.0
import os
from typing import Any, Mapping, Optional, Sequence, Union

from . import Record, SweepResult

Spec = Union[str, "os.PathLike[str]", Mapping[str, Any]]

def front(spec: Spec, objectives: Sequence[str] = ("sparse_time_us", "sparse_energy_uj_total"), *, trials: int = 200,
          seed: int = 0, jobs: Optional[int] = None) -> SweepResult: ...
def hypercube(axes: Sequence[Mapping[str, Any]], n: int, *, seed: int = 0) -> list[dict[str, Any]]: ...
def sensitivity(spec: Spec, figure: str = "sparse_time_us", *, samples: int = 256, seed: int = 0,
                jobs: Optional[int] = None) -> Record: ...
