"""Write constraints.txt from a report of `pip install --dry-run` that is read from a file.

Parts of CUDA are left out: torch names their exact versions, and a build for the CPU has none.
"""

import json
import re
import sys
from pathlib import Path

installed = json.loads(Path(sys.argv[1]).read_text())["install"]
versions = {one["metadata"]["name"]: one["metadata"]["version"] for one in installed}
lines = sorted(
    f"{re.sub('[-_.]+', '-', name).lower()}=={version.partition('+')[0]}\n"
    for name, version in versions.items()
    if not re.match("levelled$|nvidia|cuda|triton", name)
)
Path("constraints.txt").write_text("".join(lines))
