"""The JSON schema of study files, for editors: ``python -m ensemble_search.study.schema``."""

import inspect
import json
import re
import sys
from typing import Any

from ensemble_search.runtime import errors, outside, plugins
from ensemble_search.study.model import PLUGINS, Study
from ensemble_search.study.sections import names


def schema() -> dict[str, Any]:
    """Return the JSON schema of a study file, with the settings of every plugin."""
    result = Study.model_json_schema()
    for section in names.NAMED:
        result["properties"][section]["additionalProperties"] = False  # no other names
    for section, module in PLUGINS.items():
        choices = []
        for name in plugins.available(module.KIND):
            plugin = plugins.load(module.KIND, name)
            choice = plugin.model_json_schema()
            for setting, about in choice.get("properties", {}).items():
                about.setdefault("description", _documented(plugin, setting))
            choice["properties"] = {module.KEY: {"const": name}, **choice.get("properties", {})}
            choice["required"] = [module.KEY, *choice.get("required", [])]
            choices.append(choice)
        result["properties"][section]["patternProperties"] = {names.NAME: {"anyOf": choices}}
    # A study that extends another may inherit the missing keys.
    required = [key for key in result["required"] if key != "study"]
    result["required"] = ["study"]
    result["if"] = {"properties": {"extends": {"type": "string"}}, "required": ["extends"]}
    result["else"] = {"required": required}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **result}


def _documented(plugin: type, setting: str) -> str:
    """Find a setting in the section "Attributes" of a docstring, or of those of the bases."""
    for part in plugin.__mro__:
        _, _, section = (inspect.getdoc(part) or "").partition("Attributes\n----------\n")
        for listed, text in re.findall(r"^(\w.*)\n((?:\n|    .*\n?)+)", section, re.MULTILINE):
            if setting in listed.split(", ") and not text.lstrip().startswith("See "):
                return " ".join(text.split()).replace("``", "`")
    return ""


def main() -> None:
    """Print the schema."""
    outside.use_environment()
    json.dump(schema(), sys.stdout, indent=2, sort_keys=True)
    print()


if __name__ == "__main__":
    errors.run(main)
