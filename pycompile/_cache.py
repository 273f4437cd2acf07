"""python -m pycompile cache: what the disk cache holds, less of it, and all of it for another machine.

An export is a zip file: `manifest.json`, then the entries with their records and the notes about their
compilers, as they lie in the folder.  The manifest has the kind of machine and a digest of each file.
An import looks at all of it before anything gets into the cache, where each entry comes by a rename.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from pycompile import _C

_NO_FOLDER = "no cache folder: PYCOMPILE_CACHE=0, or it cannot be made or trusted"


def act(action: str, file: str | None, every: bool, days: float) -> int:
    """The command of that name.  Returns the exit status."""
    if action == "info":
        return cache_info()
    if action == "clear":
        return cache_clear()
    if action == "list":
        return cache_list(every)
    if not _C.cache_folder():
        print(_NO_FOLDER)
        return 1
    try:
        if action == "prune":
            print(prune(days))
        else:
            print(
                export_to(Path(file or "")) if action == "export" else import_from(Path(file or ""))
            )
    except (OSError, Refused) as error:
        print(f"{action}: {error}", file=sys.stderr)
        return 1
    return 0


def print_table(rows: list[tuple[str, Any]]) -> None:
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


def rows() -> list[tuple[str, Any]]:
    """The disk cache over all processes: what it holds, and what that has been good for."""
    found, entries = _C.cache_info(), _C.cache_entries()
    if not found["folder"]:
        return [("cache folder", _NO_FOLDER)]
    spent = sum(entry["seconds"] for entry in entries)
    return [
        ("cache folder", found["folder"]),
        ("cache entries", f"{len(entries)}, compiled in {spent:.1f} s"),
        ("cache bytes", f"{found['bytes']} of at most {found['limit']}"),
        ("cache hits", sum(entry["hits"] for entry in entries)),
    ]


def _age(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _by_function(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of one function as one: all their bytes and hits, the age of the last."""
    rows: dict[Any, dict[str, Any]] = {}
    for entry in entries:
        known = entry["function"] is not None
        key = (entry["function"], entry["file"], entry["line"]) if known else entry["name"]
        row = rows.setdefault(key, {**entry, "files": 0, "bytes": 0, "hits": 0, "made": 0.0})
        row["files"] += 1
        row["bytes"] += entry["bytes"]
        row["hits"] += entry["hits"]
        row["made"] = max(row["made"], entry["made"])
        row["all"] = {**row.get("all", {}), entry["shapes"]: None}
    for row in rows.values():
        first, *more = row.pop("all")
        row["shapes"] = f"{first}; and {len(more)} more" if more else first
    return list(rows.values())


def cache_list(every: bool = False) -> int:
    """What the disk cache holds: a line for each function (or file), those of late first, the sum."""
    folder = _C.cache_folder()
    if not folder:
        print(_NO_FOLDER)
        return 0
    now = time.time()
    entries = _C.cache_entries()
    shown = [{**entry, "files": 1} for entry in entries] if every else _by_function(entries)
    rows: list[tuple[str, ...]] = []
    if entries:
        rows.append(("age", "files", "bytes", "hits", "function", "place", "shapes"))
    for entry in sorted(shown, key=lambda entry: (-entry["made"], entry["name"])):
        known = entry["function"] is not None
        counts = (str(entry[key]) for key in ("files", "bytes", "hits"))
        name = entry["function"] if known else f"? ({entry['name']})"
        place = f"{entry['file']}:{entry['line']}" if known else "?"
        rows.append((_age(now - entry["made"]), *counts, name, place, entry["shapes"]))
    width = [max(len(row[column]) for row in rows) for column in range(6)] if rows else []
    for row in rows:
        numbers = "  ".join(f"{row[column]:>{width[column]}}" for column in range(4))
        print(f"{numbers}  {row[4]:<{width[4]}}  {row[5]:<{width[5]}}  {row[6]}".rstrip())
    files = "1 file" if len(entries) == 1 else f"{len(entries)} files"
    print(f"{files}, {sum(entry['bytes'] for entry in entries)} bytes in {folder}")
    return 0


def cache_info() -> int:
    """Where the disk cache is, how much it holds, and what that has been good for."""
    print_table(rows())
    return 0


def cache_clear() -> int:
    """Removes all that the disk cache holds."""
    if not _C.cache_folder():
        print(_NO_FOLDER)
        return 1
    _C.cache_clear()
    left = _C.cache_info()
    if left["entries"]:
        print(f"not cleared: {left['entries']} entries of {left['folder']} cannot be removed")
        return 1
    print("cache cleared")
    return 0


# ---- less of it ----


def prune(days: float) -> str:
    """Removes what was not used for so many days, what is damaged, and what processes have left behind."""
    _C.cache_sweep()  # leftovers, and what is beyond the size limit
    folder, oldest = _folder(), time.time() - days * 86400
    entries = _C.cache_entries()
    gone = [
        entry
        for entry in entries
        if entry["used"] < oldest or not _C.cache_check(str(folder / entry["name"]))
    ]
    for entry in gone:
        for name in (entry["name"], _record(entry["name"])):
            (folder / name).unlink(missing_ok=True)
    freed = sum(entry["bytes"] for entry in gone)
    return f"{_files(len(gone))}, {freed} bytes removed; {_files(len(entries) - len(gone))} stay"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _record(entry: str) -> str:
    return entry.removesuffix(".so") + ".txt"


# ---- all of it, elsewhere ----


class Refused(Exception):
    """A file that is not imported, and why."""


def _folder() -> Path:
    folder = _C.cache_folder()
    if not folder:
        raise Refused(_NO_FOLDER)
    return Path(folder)


FORMAT = 1
_KIND = ("abi", "flags", "cpu", "cpu_text", "compiler")  # of _C.cache_kind()
_ENTRY = re.compile(r"[0-9a-f]{32}\.so")
_NAMES = re.compile(r"[0-9a-f]{32}\.(so|txt)|compiler-[0-9a-f]{32}")


def _fields(record: bytes) -> dict[str, str]:
    lines = record.decode("utf-8", "replace").split("\n")
    return dict(line.partition(": ")[::2] for line in lines)


def _is_of(kind: dict[str, Any], fields: dict[str, str]) -> bool:
    """Is it for this CPU, or for a device, whatever CPU it has?"""
    device = fields.get("compiler", "").partition(" ")[2].startswith("NVRTC")
    return device or fields.get("cpu", "").partition(" ")[0] == kind["cpu"]


def _collect(names: Iterable[str], folder: Path) -> dict[str, bytes]:
    """Of these entries those for machines like this one: code, record, and the notes of compilers."""
    kind = _C.cache_kind()
    contents: dict[str, bytes] = {}
    for entry in sorted(names):
        try:
            record, code = (folder / _record(entry)).read_bytes(), (folder / entry).read_bytes()
        except OSError:  # another process has removed it
            continue
        if _is_of(kind, _fields(record)) and _C.cache_check(str(folder / entry)):
            contents |= {entry: code, _record(entry): record}
    for note in folder.glob("compiler-*") if contents else ():
        contents[note.name] = note.read_bytes()
    return contents


def export_of(names: Iterable[str], out: IO[bytes], folders: Iterable[str] = ()) -> int:
    """Writes an export of these entries.  Returns how many there are.  Raises Refused for none.

    They are in the cache's folder, or in one of these, which the cache had.
    """
    contents: dict[str, bytes] = {}
    known, entries = [*folders, *filter(None, [_C.cache_folder()])], set(names)
    if not known:
        raise Refused(_NO_FOLDER)
    for folder in known:
        contents |= _collect(entries - contents.keys(), Path(folder))
    if not contents:
        raise Refused(f"there is nothing in {known[-1]} for machines of this kind")
    digests = {name: hashlib.blake2s(data).hexdigest() for name, data in contents.items()}
    manifest = {"format": FORMAT, "kind": _C.cache_kind(), "files": digests}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest, indent=1))
        for name, data in contents.items():
            archive.writestr(name, data)
    return sum(name.endswith(".so") for name in contents)


def export_to(file: Path) -> str:
    """Writes the entries for machines like this one to a file, which is there whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            count = export_of((entry["name"] for entry in _C.cache_entries()), out)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise
    return f"{_files(count)}, {file.stat().st_size} bytes in {file}"


def _read(file: Path | IO[bytes], told: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The kind of machine and the files.  Raises Refused for what is damaged, or no export."""
    try:
        with zipfile.ZipFile(file) as source:
            manifest = json.loads(source.read("manifest.json"))
            if manifest["format"] != FORMAT:
                raise Refused(
                    f"{told} has format {manifest['format']}, this version reads {FORMAT}"
                )
            contents = {name: source.read(name) for name in manifest["files"]}
        for name, data in contents.items():
            if (
                not _NAMES.fullmatch(name)
                or hashlib.blake2s(data).hexdigest() != manifest["files"][name]
            ):
                raise ValueError(name)
        kind: dict[str, Any] = {key: manifest["kind"][key] for key in _KIND}
    except OSError as error:
        raise Refused(f"{told} cannot be read: {error.strerror or error}") from None
    except Refused:
        raise
    except Exception as error:  # zipfile and zlib raise many kinds
        raise Refused(f"{told} is damaged, or no export of the cache ({error})") from None
    return kind, contents


def _require_kind(kind: dict[str, Any]) -> None:
    """Raises Refused where nothing of the file would be found here."""
    here = _C.cache_kind()
    names = {"abi": "version of the cache", "flags": "flags of the compiler", "cpu": "CPU"}
    for key, name in names.items():
        if kind[key] != here[key]:
            then, now = (side.get(f"{key}_text", side[key]) for side in (kind, here))
            raise Refused(f"it is for machines of another kind: {name}: there {then}, here {now}")
    if None not in (kind["compiler"], here["compiler"]) and kind["compiler"] != here["compiler"]:
        raise Refused(
            "it is for machines of another kind: compiler: "
            f"there {kind['compiler']}, here {here['compiler']}"
        )


def import_of(file: Path | IO[bytes], told: str) -> tuple[int, int]:
    """Takes an export's entries into the cache: all of them, or none.  Returns how many, and of how many.

    Those of the compiler that is here as well count as made by it.
    """
    kind, contents = _read(file, told)
    folder = _folder()
    work = Path(tempfile.mkdtemp(dir=folder, prefix="work-"))
    notes: list[Path] = []
    try:
        for name, data in contents.items():
            (work / name).write_bytes(data)
            if name.startswith("compiler-") and not (folder / name).exists():
                # Before the compiler is asked for its version.
                os.replace(work / name, folder / name)
                notes.append(folder / name)
        _require_kind(kind)
        entries = [name for name in contents if _ENTRY.fullmatch(name)]
        for name in entries:
            if _record(name) not in contents or not _C.cache_check(str(work / name)):
                raise Refused(f"{told} is damaged: {name}")
        taken = sum(_C.cache_take(str(work / name), contents[_record(name)]) for name in entries)
    except BaseException:
        for note in notes:
            note.unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return taken, len(entries)


def import_from(file: Path) -> str:
    taken, count = import_of(file, str(file))
    folder = _C.cache_folder()
    return f"{_files(taken)} taken into {folder}; {count - taken} were there"
