"""Files that commands write."""

import os
import pathlib


def write_file(path: str | os.PathLike, content: bytes | str) -> None:
    """Writes a file that appears as a whole or not at all, also if it replaces one. Devices and pipes are written
    into."""
    data = content.encode() if isinstance(content, str) else content
    path = pathlib.Path(path)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = path.resolve()
    aside = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        # A link in place of this file, whose name can be guessed, is not followed.
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
