# SPDX-License-Identifier: Apache-2.0
"""Arguments of the caller, refused in one sentence."""
from ._core import InputError


def integer(name, value, least, most):
    """`value` as an int from `least` to `most`."""
    if hasattr(value, "__index__") and not isinstance(value, bool):
        value = value.__index__()
        if least <= value <= most:
            return value
    raise InputError(f"{name} must be an integer from {least} to {most}, not {value!r}")


def word(name, value):
    """`value`, a str."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be a word, not {type(value).__name__}")
    return value


def switch(name, value):
    """`value`, a bool."""
    if value is True or value is False:
        return value
    raise InputError(f"{name} must be True or False, not {value!r}")


def function(name, value):
    """`value`, which can be called, or None."""
    if value is not None and not callable(value):
        raise InputError(f"{name} must be a function or None, not {type(value).__name__}")
    return value
