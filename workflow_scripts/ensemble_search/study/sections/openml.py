"""`openml`: how OpenML is reached."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from ensemble_search.study.sections.base import Section

if TYPE_CHECKING:
    from ensemble_search.study.model import Study


class OpenML(Section):
    """How OpenML is reached; none of this changes a result."""

    server: str | None = Field(None, description="address of another server's XML interface")
    cache: str | None = Field(None, description="a filled cache folder of the openml client")
    tries: int = Field(5, ge=1, description="attempts per download, with growing pauses in between")
    max_mb: int = Field(
        2000, ge=1, description="largest size of a data set's file, unpacked, in MB (10^6 bytes)"
    )
    max_seconds: float = Field(
        3600,
        gt=0,
        description="largest number of seconds per data set, including all attempts and pauses",
    )
    min_kb_per_second: float = Field(
        10,
        gt=0,
        description="an attempt fails if it is slower than this over a minute (kB of 10^3 bytes, "
        "unpacked)",
    )

    @field_validator("server")
    @classmethod
    def _address(cls, server: str | None) -> str | None:
        if server is None:
            return None
        from ensemble_search.data.openml_client import ADDRESS  # other studies need no client

        if not ADDRESS.fullmatch(server):
            raise ValueError("is not an address, such as https://openml.example.org/api/v1/xml")
        return server

    @field_validator("cache")
    @classmethod
    def _home(cls, folder: str | None) -> str | None:
        return None if folder is None else os.path.expanduser(folder)


def problems(study: "Study") -> Iterator[str]:
    """Check that the cache is a folder."""
    cache = study.openml.cache
    if cache is not None and not os.path.isdir(cache):
        yield f"openml.cache: there is no folder '{cache}'"
