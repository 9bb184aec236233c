"""Finished figures -> one page to read, print or send."""

from levelled.reports.page import Report, Section, page

__all__ = ["Report", "Section", "page"]
