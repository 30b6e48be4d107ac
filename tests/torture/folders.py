"""Damage and forge delivered folders at random, and load each in its own process.

    PYTHONPATH=workflow_scripts:tests python tests/torture/folders.py --seed 0 --attacks 1000

An attack changes bytes of a file, values of its JSON or its arrays, or the folder itself; checksums
are written again, as a forger can. Allowed are predictions that are finite (and probabilities), and
one clear line. Not allowed are signals, tracebacks, other numbers, more than SECONDS or MEMORY.
"""

import argparse
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np

from ensemble_search.predictor.ensemble import MANIFEST, PREPARATION, load_ensemble
from ensemble_search.runtime.errors import UserError
from support import delivered_folder

SECONDS = 60
#: Bytes that loading and predicting may need on top of the libraries.
MEMORY = 2**30
ODD = (
    *(None, True, "", "nan", "../x", -1, 0, 1, 2, 3, 10**9, 2**63, 10**400, 0.5, -0.0, 1e-320),
    *(1e308, -1e308, [], {}, [[]], "rbf", "tree sum", "\x1b[2J", "=1+1"),
)
FLOATS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 5e-324, 0.5, 1e30)
INTEGERS = (-(2**31), -2, -1, 0, 1, 2, 7, 10**8, 2**31 - 1)


def main() -> int:
    """Attack; exit status 1 if anything that is not allowed has happened."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--attacks", type=int, default=1000)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    root = Path(tempfile.mkdtemp(prefix="torture-"))
    for task in ("classification", "regression"):
        delivered_folder.make(root / task, task)
        if (found := outcome(root / task)) != "predicts":
            sys.exit(f"the {task} does not predict: {found}")
    counts = {"predicts": 0, "is rejected": 0}
    for number in range(arguments.attacks):
        folder = root / "attacked"
        some(root / ("classification", "regression")[number % 2], folder, rng)
        said = attack(folder, rng)
        found = outcome(folder)
        if found not in counts:
            print(f"attack {number} ({said}) of seed {arguments.seed}: {found}; see {folder}")
            return 1
        counts[found] += 1
        shutil.rmtree(folder)
    shutil.rmtree(root)
    print(f"{arguments.attacks} attacks: {counts['is rejected']} rejected in one line, "
          f"{counts['predicts']} predict")  # fmt: skip
    return 0


def some(whole: Path, folder: Path, rng: np.random.Generator) -> None:
    """Copy a folder with three of its members, to save time."""
    manifest = json.loads((whole / MANIFEST).read_text(encoding="utf-8"))
    listed = manifest["members"]
    chosen = [listed[i] | {"weight": 1 / 3} for i in rng.choice(len(listed), 3, replace=False)]
    folder.mkdir()
    shutil.copyfile(whole / PREPARATION, folder / PREPARATION)
    for member in chosen:
        shutil.copytree(whole / member["folder"], folder / member["folder"])
    delivered_folder.write_manifest(folder, manifest | {"members": chosen})


def outcome(folder: Path) -> str:
    """Load and predict in a child process; say what happened."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            said = _predicted(folder)
            status = 0
        except BaseException:
            said = traceback.format_exc()
        finally:
            os.write(writing, said.encode()[-4000:])
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said if status >= 0 else f"ended by {signal.Signals(-status).name}"


def _predicted(folder: Path) -> str:
    signal.alarm(SECONDS)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[5]) * resource.getpagesize()  # data
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY,) * 2)
    warnings.simplefilter("ignore")
    rows = delivered_folder.columns(50)
    try:
        model = load_ensemble(folder)
        regression = not hasattr(model, "classes_")
        found = model.predict(rows) if regression else model.predict_proba(rows)
    except UserError as error:
        return "is rejected" if "\n" not in str(error) else f"several lines: {error}"
    if len(found) != 50 or not np.isfinite(found).all():
        return f"predicts {found}"
    if not regression and (found.min() < 0 or abs(found.sum(axis=1) - 1).max() > 1e-6):
        return f"predicts {found}"
    return "predicts"


def attack(folder: Path, rng: np.random.Generator) -> str:
    """Change one thing; say what."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    path = files[rng.integers(len(files))]
    if rng.random() < 0.15:
        path = folder / MANIFEST
    kind = ("bytes", "values", "values", "place")[rng.integers(4)]
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    if kind == "place":
        said = _displaced(folder, path, rng)
    elif kind == "bytes":
        said = _bytes(path, rng)
    elif path.suffix == ".json":
        content = json.loads(path.read_text(encoding="utf-8"))
        said = _value(content, rng)
        path.write_text(json.dumps(content), encoding="utf-8")
    else:
        said = _arrays(path, rng)
    if path.name != MANIFEST and kind != "place":
        delivered_folder.write_manifest(folder, manifest)
    return f"{path.relative_to(folder)}: {said}"


def _bytes(path: Path, rng: np.random.Generator) -> str:
    content = bytearray(path.read_bytes())
    at = int(rng.integers(len(content)))
    kind = ("cut", "flip", "insert", "repeat")[rng.integers(4)]
    if kind == "cut":
        del content[at:]
    elif kind == "flip":
        for place in rng.integers(len(content), size=rng.integers(1, 9)):
            content[place] = rng.integers(256)
    elif kind == "insert":
        content[at:at] = rng.bytes(int(rng.integers(1, 40)))
    else:
        content[at:at] = content[: at + 1]
    path.write_bytes(content)
    return f"{kind} at {at}"


def _value(content, rng: np.random.Generator) -> str:
    """Replace, remove or copy a value at any depth."""
    place, said = content, ""
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return "nothing"
        key = keys[rng.integers(len(keys))]
        said += f"/{key}"
        if isinstance(place[key], (dict, list)) and len(place[key]) and rng.random() < 0.9:
            place = place[key]
            continue
        chance = rng.random()
        if chance < 0.1:
            del place[key]
        elif chance < 0.2:
            place[key] = place[keys[rng.integers(len(keys))]]
        else:
            place[key] = ODD[rng.integers(len(ODD))]
        return f"{said} = {str(place)[:80]}"


def _arrays(path: Path, rng: np.random.Generator) -> str:
    with np.load(path) as file:
        arrays = dict(file)
    name = sorted(arrays)[rng.integers(len(arrays))]
    array, kind = arrays[name], rng.integers(8)
    odd = FLOATS if array.dtype.kind == "f" else INTEGERS
    if kind < 4 and array.size:
        places = rng.integers(array.size, size=rng.integers(1, 4)) if kind < 3 else slice(None)
        array.flat[places] = odd[rng.integers(len(odd))]
    elif kind == 4:
        arrays[name] = np.resize(array, [int(n) for n in rng.integers(0, 9, array.ndim)])
    elif kind == 5:
        types = ("f2", "f4", "f8", "i8", "u1", "?", "c16", "U3", "S2", "M8[s]", "f8,i4")
        arrays[name] = np.zeros(array.shape, types[rng.integers(len(types))])
    elif kind == 6:
        arrays[name] = rng.permutation(array.ravel()).reshape(array.shape)
    else:
        return _zipped(path, arrays, rng)
    np.savez(path, **arrays)
    return f"{name}, change {kind}"


def _zipped(path: Path, arrays, rng: np.random.Generator) -> str:
    """Forge the archive: a bomb, an array that promises much, a name twice."""
    kind = rng.integers(3)
    if kind == 0:
        np.savez_compressed(path, **arrays, bomb=np.zeros(2 * 10**7))
        return "a bomb"
    name = sorted(arrays)[rng.integers(len(arrays))]
    promise = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        promise, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 5)}
    )
    content = promise.getvalue() if kind == 1 else b"\x93NUMPY\x01\x00"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(f"{name}.npy", content)
    return "an array that promises much" if kind == 1 else "a name twice"


def _displaced(folder: Path, path: Path, rng: np.random.Generator) -> str:
    """Remove a file, or put a folder, a link or a pipe in its place."""
    kind = ("removed", "a folder", "a link", "a link to itself", "a pipe", "the file of another")[
        rng.integers(6)
    ]
    kept = path.read_bytes()
    others = [p for p in sorted(folder.rglob(path.name)) if p != path] or [path]
    other = others[rng.integers(len(others))].read_bytes()
    path.unlink()
    if kind == "a folder":
        path.mkdir()
    elif kind == "a link":
        (folder.parent / "outside").write_bytes(kept)
        path.symlink_to(folder.parent / "outside")
    elif kind == "a link to itself":
        path.symlink_to(path)
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "the file of another":
        path.write_bytes(other)
        if path.name != MANIFEST:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            delivered_folder.write_manifest(folder, manifest)
    return kind


if __name__ == "__main__":
    sys.exit(main())
