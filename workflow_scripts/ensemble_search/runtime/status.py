"""How an evaluation ends, and where its result is from."""

OK = "ok"
STATUSES = (OK, "timeout", "memory", "crash", "invalid")
ORIGINS = (FITTED, SHARED, TABLE, GIVEN) = ("fitted", "shared", "table", "given")
