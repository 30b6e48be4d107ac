"""Records of a synthetic search, and their journal."""

import numpy as np

from ensemble_search.search.journal import Record

FINGERPRINT = {"optimizer": {"optimizer": "bo", "initial": 5}, "seed": [0, 1], "data": "abc"}
SHAPES = (4, 1), (3, 1)


def record(i: int) -> Record:
    rng = np.random.default_rng(i)
    ok = i % 3 != 2
    return Record(
        configuration={"algorithm": "knn", "x": float(rng.random()), "n": i},
        status="ok" if ok else "crash",
        error=float(rng.random()) if ok else None,
        suggest_seconds=0.1,
        fit_seconds=1.5,
        cpu_seconds=1.4,
        predict_seconds=0.2 if ok else None,
        memory_mb=300.5,
        error_type="" if ok else "ValueError",
        message="" if ok else "naïve — line",
        why={"origin": "random"},
        validation=rng.random(SHAPES[0], dtype=np.float32) if ok else None,
        test=rng.random(SHAPES[1], dtype=np.float32) if ok else None,
        fidelity=0.5 if i % 4 == 1 else 1.0,
        planned_after=i - i % 2,
    )


def equal(a: Record, b: Record) -> bool:
    for part in ("validation", "test"):
        x, y = getattr(a, part), getattr(b, part)
        if (x is None) != (y is None) or (x is not None and x.tobytes() != y.tobytes()):
            return False
    plain = [{k: v for k, v in vars(r).items() if k not in ("validation", "test")} for r in (a, b)]
    return plain[0] == plain[1]
