"""Figures that are finished -> one page to read, print or send."""

from levelled.reports.page import page
from levelled.reports.record import Figure, Report, Section

__all__ = ["Figure", "Report", "Section", "page"]
