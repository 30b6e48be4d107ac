"""How an evaluation ends, and where its result is from."""

from typing import Literal, get_args

Status = Literal["ok", "timeout", "memory", "crash", "invalid"]
STATUSES: tuple[str, ...] = get_args(Status)
OK = "ok"
Origin = Literal["fitted", "shared", "table", "given"]
ORIGINS = (FITTED, SHARED, TABLE, GIVEN) = get_args(Origin)
