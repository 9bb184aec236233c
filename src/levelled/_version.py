"""The version of the package, for its parts, which cannot import the package above them."""

__version__ = "0.1.0"
