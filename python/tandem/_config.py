"""Configs from files, dictionaries and settings."""

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from tandem import _tandem


Settings = Mapping[str, Any]


def _plain(value: Any, key: str, around: tuple[Any, ...] = ()) -> Any:
    """Returns `value`, the value of `key`, with only the types that JSON has. `around` are the lists and
    mappings that it is in."""
    if any(value is outer for outer in around):
        raise ValueError(f"{key}: expected a value, found a list or mapping that contains itself")
    if isinstance(value, os.PathLike):
        value = os.fsdecode(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {_checked(str(name), key): _plain(inner, f"{key}.{name}" if key else str(name), (*around, value))
                for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, key, (*around, value)) for inner in value]
    if isinstance(value, str):
        return _checked(value, key)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise ValueError(f"{key}: {value!r} is of type {type(value).__name__}, expected a str, a number, a bool, "
                     "None, a path, or a list or mapping of them")


def _checked(text: str, key: str) -> str:
    """Returns `text`. Python decodes bytes of a path that are not UTF-8 to surrogates, and these
    cannot be passed on."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{key or 'a key'}: {text!r} has bytes that are not UTF-8. Make a link to the file, and "
                         "name that.") from None
    return text


def _json(value: Any, key: str) -> str:
    return json.dumps(_plain(value, key), ensure_ascii=False)


def _text(value: Any, key: str) -> str:
    if isinstance(value, os.PathLike):
        value = os.fsdecode(value)
    return _checked(value, key) if isinstance(value, str) else _json(value, key)


def settings_as_text(settings: Settings | None) -> dict[str, str]:
    """Returns settings as `--set KEY=VALUE` of the program takes them."""
    return {_checked(key, ""): _text(value, key) for key, value in (settings or {}).items()}


def settings_of(arguments: list[str]) -> dict[str, str]:
    """Returns the settings of a command line's `--set KEY=VALUE`. Raises ValueError that names a wrong one."""
    if wrong := [text for text in arguments if "=" not in text]:
        raise ValueError(f"--set {wrong[0]}: expected KEY=VALUE")
    return dict(text.split("=", 1) for text in arguments)


def load_config(config: "str | os.PathLike | Mapping | _tandem.Config",
                settings: Settings | None = None) -> _tandem.Config:
    """Returns a checked tandem.Config.

    config: the path of a YAML file, the name of a config that comes with Tandem such as "quickstart", a
        mapping such as {"domain": {"name": "cube2"}}, or a tandem.Config. Keys that are missing have
        their defaults.
    settings: changes, such as {"train.max_seconds": 10}. A value is a str, a number, a bool, a path or
        None.

    Raises ValueError that names the key, the value found and the values expected.
    """
    texts = settings_as_text(settings)
    if isinstance(config, _tandem.Config):
        return _tandem.Config.from_yaml(config.to_yaml(), "the config", texts)
    if isinstance(config, Mapping):
        return _tandem.Config.from_yaml(_json(config, ""), "the config", texts)  # JSON is YAML
    return _tandem.Config.from_file(_config_file(os.fspath(config)), texts)


def _config_file(name: str) -> str:
    """Returns `name`, or the path of the config of that name that comes with Tandem if no file has it."""
    package = pathlib.Path(__file__).resolve().parent
    folders = (package / "share" / "tandem", package.parents[1])  # a wheel's, a source tree's
    files = [name, *(str(folder / "configs" / f"{name}.yaml") for folder in folders)]
    return next(filter(os.path.exists, files), name)
