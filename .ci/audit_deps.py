"""Say what build/audit.json, as pip-audit writes it, knows of the versions in constraints.txt.

Exits with 1 if a version has a known hole, and with 2 if some could not be looked up: pip-audit
itself passes over these, also when it has reached no database at all.
"""

import json
import sys
from pathlib import Path

path = Path("build/audit.json")
packages = json.loads(path.read_text())["dependencies"] if path.exists() else []
locked = Path("constraints.txt").read_text().splitlines()
checked = [one for one in packages if "skip_reason" not in one]
holes = [
    f"{one['name']} {one['version']}: {hole['id']}, mended in {', '.join(hole['fix_versions'])}"
    for one in checked
    for hole in one["vulns"]
]
lines = [*holes, f"{len(checked)} of {len(locked)} packages looked up, {len(holes)} known holes"]
if len(checked) < len(locked):
    lines.append("The others could not be looked up: the database of pip-audit was not reached.")
sys.stdout.write("\n".join(lines) + "\n")
sys.exit(1 if holes else 2 if len(checked) < len(locked) else 0)
