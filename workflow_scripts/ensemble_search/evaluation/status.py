"""How an evaluation ends."""

OK = "ok"
STATUSES = (OK, "timeout", "memory", "crash", "invalid")
