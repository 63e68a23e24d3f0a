# SPDX-License-Identifier: Apache-2.0
"""Arguments of the caller, refused in one sentence."""
import json
import os

from ._core import InputError


def _shown(value):
    """What stands for `value` in a sentence."""
    try:
        text = repr(value)
    except Exception:  # that of a class of the caller, or of an int of thousands of digits
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:28]}...{text[-28:]}"


def integer(name, value, least, most):
    """`value` as an int from `least` to `most`."""
    if hasattr(value, "__index__") and not isinstance(value, bool):
        value = value.__index__()
        if least <= value <= most:
            return value
    raise InputError(f"{name} must be an integer from {least} to {most}, not {_shown(value)}")


def word(name, value):
    """`value`, a str."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a word, not {type(value).__name__}")
    return value


def words(**given):
    """Those that are not None, each a str."""
    return {name: word(name, value) for name, value in given.items() if value is not None}


def path(name, value):
    """`value`, the path of a file, as a str."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise InputError(f"{name} must be the path of a file, not {type(value).__name__}") from None


def count(name, value, most):
    """`value` as an int from 1 to `most`; 0 of None."""
    return 0 if value is None else integer(name, value, 1, most)


def mapping(name, value, what):
    """`value`, a dict of `what`; an empty one of None."""
    if value is None or hasattr(value, "items"):
        return value or {}
    raise InputError(f"{name} must be a dict of {what}, not {type(value).__name__}")


def _plain(value):
    """What JSON takes for a number of NumPy."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


def json_text(name, value):
    """The JSON of `value`, a dict or Record."""
    try:
        return json.dumps(value.to_dict() if hasattr(value, "to_dict") else value, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name}: {error}") from None


def switch(name, value):
    """`value`, a bool."""
    if value is True or value is False:
        return value
    raise InputError(f"{name} must be True or False, not {_shown(value)}")


def function(name, value):
    """`value`, which can be called, or None."""
    if value is not None and not callable(value):
        raise InputError(f"{name} must be a function or None, not {type(value).__name__}")
    return value
