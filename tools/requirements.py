"""Print what pip installs for extras of pyproject.toml, without the package itself.

`python tools/requirements.py test tune` prints the base dependencies and those of two extras, one per line.
`make setup` installs them while the native module is compiled. Runs in an environment that has pip.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pip._vendor import tomli  # Python 3.10 has no reader of TOML


def requirements(extras: list[str]) -> list[str]:
    """Return the base dependencies and those of `extras`, each once."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    project = tomli.loads(text)["project"]
    optional = project["optional-dependencies"]
    return list(dict.fromkeys([*project["dependencies"], *(r for extra in extras for r in optional[extra])]))


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
