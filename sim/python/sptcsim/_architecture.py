# SPDX-License-Identifier: Apache-2.0
"""Architectures: read, derive, save."""
from __future__ import annotations

import functools
import json
import math
import os
import re
import shutil

from . import _checks, _core
from ._core import InputError
from ._record import Record, table
from ._types import Mapping, Path


class Architecture:
    """A GPU: its numbers, each with unit, evidence and source. load() makes one."""

    def __init__(self, core, origin, base=None, changes=None):
        self._core = core
        self._origin = origin  # the name or file that it was loaded from
        self._base = base or self  # what was loaded from there
        self._changes = changes or {}  # pointer: number in a derived file

    @property
    def name(self) -> str:
        """Its name: "a100-sxm4-80gb"."""
        return self._core.name

    @property
    def numerics(self) -> str:
        """The generation whose arithmetic it has: "ampere"."""
        return self._core.numerics

    @property
    def bases(self) -> list[str]:
        """Names of what it was derived from, the nearest first."""
        return list(self._core.bases)

    @functools.cached_property
    def parameters(self) -> list[Record]:
        """Every number: records with pointer, value, unit, evidence (measured, cited, derived, assumed), source."""
        return [Record(row) for row in self._core.parameters()]

    @functools.cached_property
    def _by_pointer(self):
        return {parameter.pointer: parameter for parameter in self.parameters}

    def parameter(self, path: str) -> Record:
        """One of the parameters: path is a pointer ("/sm/max_warps"), "sm.max_warps", or a last key that occurs once.

        Raises InputError with the nearest names.
        """
        _checks.word("a parameter", path)
        found = self._by_pointer.get(path) or self._by_pointer.get(self._core.parameter_pointer(path))
        if found is not None:
            return found
        raise InputError(f"'{path}' is a word and no number of {self.name}")

    def __getitem__(self, path: str) -> int | float:
        """The value of a parameter: arch["/sms"]."""
        return self.parameter(path).value

    def with_(self, changes: Mapping[str, int | float], name: str | None = None,
              source: str = "set from Python") -> Architecture:
        """A design with other numbers: arch.with_({"/sms": 216}).

        changes: {path: value}, paths as parameter() takes them. Values are checked as those of a file are; their
        evidence is "assumed". name: of the design; by default that of its base and the changed numbers.
        Returns a new Architecture; this one where nothing changes. Raises InputError.
        """
        if not hasattr(changes, "items"):
            raise InputError(f"changes must be a dict of numbers by their paths, not {type(changes).__name__}")
        merged = dict(self._changes)
        for path, value in changes.items():
            value = value.item() if hasattr(value, "item") else value  # of NumPy
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InputError(f"'{path}' must be a number, not {value!r}")
            if not math.isfinite(value):
                raise InputError(f"'{path}' must be a finite number, not {value}")
            parameter = self._base.parameter(path)
            if value == parameter.value:
                merged.pop(parameter.pointer, None)  # a derived file names what differs
            else:
                merged[parameter.pointer] = {"value": value, "evidence": "assumed", "source": source}
        if merged == self._changes:
            return self
        if not merged:
            return self._base
        derived = Architecture(None, self._origin, self._base, merged)
        if name is None:
            # The name stands for the numbers: equal designs are called alike.
            words = [f"{pointer.strip('/').replace('/', '-')}-{number['value']}" for pointer, number in merged.items()]
            name = re.sub(r"[^A-Za-z0-9._-]", "-", "-".join([self._base.name, *words]))[:100]
        derived._name = name
        derived._core = _core.to_architecture(json.dumps(derived._derived_document()), "with_")
        return derived

    def _derived_document(self):
        is_file = "/" in self._origin or self._origin.endswith(".json")
        document = {"base": os.path.abspath(self._origin) if is_file else self._origin, "name": self._name}
        for pointer, number in self._changes.items():
            *sections, key = pointer.strip("/").split("/")
            place = document
            for section in sections:
                place = place.setdefault(section, {})
            place[key] = number
        return document

    def save(self, path: Path) -> None:
        """Writes a file that load() and --arch take. A design names what it is derived from; others are copied."""
        try:
            path = os.fspath(path)
        except TypeError:
            raise InputError(f"save needs the path of a file, not {type(path).__name__}") from None
        try:
            if not self._changes:
                shutil.copyfile(_core.architecture_path(self._origin), path)
                return
            beside = path + ".tmp"
            with open(beside, "w", encoding="utf-8") as file:
                json.dump(self._derived_document(), file, indent=2)
                file.write("\n")
            os.replace(beside, path)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None

    def __repr__(self):
        return f"Architecture({self.name})"

    def _repr_html_(self):
        rows = [(p.pointer, p.value, p.unit, p.evidence) for p in self.parameters]
        return f"<b>{self.name}</b>{table(('parameter', 'value', 'unit', 'evidence'), rows)}"


def load(name: Path) -> Architecture:
    """The architecture called `name`.

    name: one of architectures(), an alias ("A100", "NVIDIA GeForce RTX 4090"), or the path of a file.
    Raises InputError, with the nearest name or with every problem of a file.
    """
    if not isinstance(name, (str, os.PathLike)):
        raise InputError(f"an architecture is a name, a path or an Architecture, not {type(name).__name__}")
    name = os.fspath(name)
    return Architecture(_core.load_architecture(name), name)


def architectures() -> list[str]:
    """Names of the architectures that come with sptcsim, or are in $SPTCSIM_CONFIG_DIR: a sorted list."""
    return _core.architecture_names()


@functools.lru_cache(maxsize=64)
def _known(name, _directory):
    return load(name)


def chosen(arch):
    """`arch` as an Architecture. Names are loaded once, files each time: they may have changed."""
    if isinstance(arch, Architecture):
        return arch
    if isinstance(arch, str) and "/" not in arch and not arch.endswith(".json"):
        return _known(arch, os.environ.get("SPTCSIM_CONFIG_DIR"))
    return load(arch)


def loaded(arch):
    """What the extension module takes for `arch`."""
    return chosen(arch)._core


def target_word(arch):
    """A word that the extension module takes for the target of an instruction."""
    if isinstance(arch, str):
        return arch
    if isinstance(arch, Architecture):
        return arch._origin
    raise InputError(f"an architecture is a name or an Architecture here, not {type(arch).__name__}")
