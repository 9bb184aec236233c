"""The old name of `levelled_studies.bayes`, which answers until the next version.

Networks that were saved under the old names of its modules are loaded through this one too.
"""

import sys
import warnings
from importlib import import_module

_NEW = "levelled_studies.bayes"
_MODULES = ("classifiers", "dropout", "inputs", "networks", "posterior", "radial")

warnings.warn(
    f"levelled.bayes is {_NEW} now, in the same package: import it by that name.",
    FutureWarning,
    stacklevel=2,
)
# By name: nothing in the product depends on the laboratory, this module only leads there.
sys.modules[__name__] = import_module(_NEW)
for _module in _MODULES:
    sys.modules[f"{__name__}.{_module}"] = import_module(f"{_NEW}.{_module}")
