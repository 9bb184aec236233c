"""Write build/lowest.txt for pip: direct dependencies at their lower bound, others as locked.

Torch, Ray and Dask are left out: to install them once more would take minutes.
"""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
groups = [extras[name] for name in extras.keys() - {"torch", "ray", "dask", "all", "dev"}]
lowest, parts = {}, set()
for requirement in map(Requirement, sum(groups, project["dependencies"])):
    (bound,) = (one for one in requirement.specifier if one.operator == ">=")
    name = canonicalize_name(requirement.name)
    lowest[name] = bound.version
    parts |= {f"{name}-{extra}" for extra in requirement.extras}  # psycopg names its own binary
locked = dict(line.split("==") for line in Path("constraints.txt").read_text().splitlines())
versions = {name: version for name, version in locked.items() if name not in parts} | lowest
Path("build/lowest.txt").write_text("".join(f"{a}=={b}\n" for a, b in sorted(versions.items())))
