# SPDX-License-Identifier: Apache-2.0
"""Results whose attributes have the names of the JSON output."""
from __future__ import annotations

import difflib
import html
import json

from ._core import InputError
from ._types import Any, Iterator, Mapping


class Record:
    """What a function returns: the keys of its JSON as attributes.

    `record.time_us` is `record.to_dict()["time_us"]`. Objects inside are records, arrays are lists.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_values", values)

    def to_dict(self) -> dict[str, Any]:
        """Everything as dict, list, str, int, float, bool and None, as json.loads() gives it."""
        return self._values

    def __getattr__(self, name: str) -> Any:
        values = self.to_dict()
        try:
            return wrap(values[name])
        except KeyError:
            near = difflib.get_close_matches(name, values, 1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(values)}"
            raise AttributeError(f"no '{name}' here{hint}") from None

    def __getitem__(self, name: str) -> Any:
        return wrap(self.to_dict()[name])

    def __setattr__(self, name, value):
        raise AttributeError(f"'{name}' is a result and cannot be set")

    def __contains__(self, name: str) -> bool:
        return name in self.to_dict()

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __dir__(self):
        return [*object.__dir__(self), *self.to_dict()]

    def __eq__(self, other):
        return isinstance(other, Record) and self.to_dict() == other.to_dict()

    def __reduce__(self):
        return Record, (self.to_dict(),)

    def __repr__(self):
        def short(value):
            return {dict: "{...}", list: f"[{len(value)}]"}[type(value)] if isinstance(value, (dict, list)) else repr(value)

        return f"{type(self).__name__}({', '.join(f'{k}={short(v)}' for k, v in self.to_dict().items())})"

    def _repr_html_(self):
        rows = "".join(f"<tr><th>{html.escape(str(key))}</th><td>{html.escape(repr(wrap(value)))}</td></tr>"
                       for key, value in self.to_dict().items())
        return f"<table>{rows}</table>"


def wrap(value):
    """A dict as a Record, a list as a list of what its elements become."""
    if isinstance(value, dict):
        return Record(value)
    return [wrap(element) for element in value] if isinstance(value, list) else value


def record(text):
    """A JSON object as a Record."""
    return Record(json.loads(text))


def frame(rows):
    """Dicts as a pandas.DataFrame; objects inside become columns such as "kernel.stages"."""
    try:
        import pandas
    except ImportError:
        raise InputError("to_pandas needs the package pandas, which is not installed") from None
    return pandas.json_normalize(rows)


def table(head, rows):
    """HTML of rows of cells."""
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
    return f"<table>{line(head, 'th')}{''.join(line(cells, 'td') for cells in rows)}</table>"
