"""Configs from files, dictionaries and settings."""

import json
import os
from collections.abc import Mapping
from typing import Any

from tandem import _tandem


Settings = Mapping[str, Any]


def _plain(value: Any) -> Any:
    """Returns what JSON has in place of a path or a number of NumPy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    raise ValueError(f"{value!r} is of type {type(value).__name__}, expected a str, a number, a bool, "
                     "None, a path, or a list or dict of them")


def _json(value: Any) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _text(value: Any) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    return value if isinstance(value, str) else _json(value)


def settings_as_text(settings: Settings | None) -> dict[str, str]:
    """Returns settings as `--set KEY=VALUE` of the program takes them."""
    return {key: _text(value) for key, value in (settings or {}).items()}


def load_config(config: "str | os.PathLike | Mapping | _tandem.Config",
                settings: Settings | None = None) -> _tandem.Config:
    """Returns a checked tandem.Config.

    config: the path of a YAML file, a mapping such as {"domain": {"name": "cube2"}}, or a
        tandem.Config. Keys that are missing have their defaults.
    settings: changes, such as {"train.max_seconds": 10}. A value is a str, a number, a bool, a path or
        None.

    Raises ValueError that names the key, the value found and the values expected.
    """
    texts = settings_as_text(settings)
    if isinstance(config, _tandem.Config):
        return _tandem.Config.from_yaml(config.to_yaml(), "the config", texts)
    if isinstance(config, Mapping):
        return _tandem.Config.from_yaml(_json(config), "the config", texts)  # JSON is YAML
    return _tandem.Config.from_file(os.fspath(config), texts)
