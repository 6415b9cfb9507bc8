"""A bill of materials (SBOM) of the package, in CycloneDX's JSON, from the metadata of what is installed.

    python tools/sbom.py [EXTRA ...] > ethereal-tm.cdx.json

It has what the package needs at run time, with the extras that are named, and all that these need in turn:
versions, licences and who needs whom. nanobind is in it because its code is compiled into the module. The
same versions give the same bytes. Times are those of SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError
from typing import Any

from packaging.requirements import Requirement

PACKAGE, COMPILED_IN = "ethereal-tm", "nanobind"


def main() -> None:
    print(json.dumps(bill(set(sys.argv[1:])), indent=2))


distribution = cache(Distribution.from_name)


def plain(name: str) -> str:
    """A name as the index of packages spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name: str, extras: set[str]) -> Iterator[tuple[str, set[str]]]:
    """What a package needs here, with the extras of it that are asked for."""
    for text in distribution(name).requires or []:
        own = Requirement(text)
        if own.marker is None or any(own.marker.evaluate({"extra": e}) for e in ("", *extras)):
            yield plain(own.name), own.extras
    if name == PACKAGE:
        yield COMPILED_IN, set()


def bill(extras: set[str]) -> dict[str, Any]:
    """The whole bill."""
    graph: dict[str, set[str]] = {}
    asked: dict[str, set[str]] = {}
    waiting = [(PACKAGE, extras)]
    while waiting:
        name, wanted = waiting.pop()
        if name in graph and wanted <= asked[name]:
            continue
        asked[name] = asked.get(name, set()) | wanted
        try:
            found = list(needed(name, asked[name]))
        except PackageNotFoundError:
            sys.exit(
                f"{name} is not installed, so its version is not known. Install {PACKAGE} with its extras."
            )
        graph[name] = {other for other, _ in found} - {name}
        waiting += found
    components = [component(name) for name in sorted(graph)]
    text = json.dumps([components, sorted((k, sorted(v)) for k, v in graph.items())])
    when = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), timezone.utc)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4)}",
        "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": next(own for own in components if own["name"] == PACKAGE),
        },
        "components": [own for own in components if own["name"] != PACKAGE],
        "dependencies": [
            {"ref": reference(name), "dependsOn": sorted(reference(other) for other in graph[name])}
            for name in sorted(graph)
        ],
    }


def reference(name: str) -> str:
    return f"pkg:pypi/{name}@{distribution(name).version}"


def component(name: str) -> dict[str, Any]:
    """A package with its version and its licence as it states it."""
    about = distribution(name).metadata
    kinds = [
        text.split(" :: ")[-1] for text in about.get_all("Classifier") or [] if text.startswith("License ::")
    ]
    stated = (about.get("License") or "").strip()
    licences: list[dict[str, Any]] = [{"license": {"name": kind}} for kind in kinds]
    if expression := about.get("License-Expression"):
        licences = [{"expression": expression}]
    elif not licences and stated:
        licences = [{"license": {"name": stated.splitlines()[0]}}]
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference(name),
        "name": name,
        "version": distribution(name).version,
        "purl": reference(name),
    }
    if summary := about.get("Summary"):
        found["description"] = summary
    return found | ({"licenses": licences} if licences else {})


if __name__ == "__main__":
    main()
