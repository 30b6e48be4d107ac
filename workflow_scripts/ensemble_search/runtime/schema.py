"""JSON files that have a schema."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from ensemble_search.runtime import files
from ensemble_search.runtime.files import Unusable

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[FiniteFloat, Field(ge=0)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]


class Stored(BaseModel):
    """Base of the schemas. Unknown keys are allowed: other versions may use them."""

    model_config = ConfigDict(extra="allow", strict=True)


def fitting(model: type[BaseModel], content: Any, path: Path, remedy: str = "") -> Any:
    """Return ``content`` if it fits a schema.

    Raises Unusable, naming the first key that does not fit.
    """
    try:
        model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise Unusable(path, f"{key}: {first['msg']}" if key else first["msg"], remedy) from None
    return content


def read_json(path: Path, model: type[BaseModel], remedy: str = "") -> dict[str, Any]:
    """Read a JSON file that fits a schema.

    Raises Unusable if it is missing or damaged, or does not fit.
    """
    return fitting(model, files.read_json(path, remedy), path, remedy)
