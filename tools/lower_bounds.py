"""Print the lower bounds of pyproject.toml as pins for pip.

`python tools/lower_bounds.py frames tune` prints those of the base dependencies and of two extras, as lines
such as `numpy==1.26`. A requirement that is a pin already is printed as it is. Needs Python 3.11 or later.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import tomllib

# A name with its extras, then the lower bound; the rest, an upper bound or a marker, is not needed for a pin.
_LOWER = re.compile(r"^(?P<name>[\w.-]+(\[[\w,]+\])?)>=(?P<version>[\w.]+)(,[^;]*)?(?P<marker>;.*)?$")


def pin(requirement: str) -> str:
    """Requirement that allows the lower bound only."""
    match = _LOWER.match(requirement.replace(" ", ""))
    if match:
        return f"{match['name']}=={match['version']}{match['marker'] or ''}"
    if "==" in requirement:
        return requirement
    raise ValueError(f"pyproject.toml requires {requirement!r} without a lower bound; write name>=version")


def pins(project: dict[str, Any], extras: list[str]) -> list[str]:
    """Pins of the base dependencies and of `extras`; each package once, with its highest lower bound."""
    optional = project["optional-dependencies"]
    unknown = sorted(set(extras) - set(optional))
    if unknown:
        raise ValueError(f"pyproject.toml has no extra {', '.join(unknown)}; it has {', '.join(optional)}")
    hashes: dict[str, str] = {}
    for requirement in [*project["dependencies"], *(r for extra in extras for r in optional[extra])]:
        pinned = pin(requirement)
        name = pinned.split("==")[0].split("[")[0]
        hashes[name] = max(hashes.get(name, pinned), pinned, key=_version)
    return list(hashes.values())


def _version(pinned: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", pinned.split("==")[1])]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", action="store_true", help="print those of the build, too")
    parser.add_argument("extras", nargs="*", help="extras of pyproject.toml")
    arguments = parser.parse_args()
    about = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    build = [pin(requirement) for requirement in about["build-system"]["requires"] if arguments.build]
    print("\n".join([*build, *pins(about["project"], arguments.extras)]))
