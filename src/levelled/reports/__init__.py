"""Finished figures -> one page to read, print or send."""

from levelled.reports.page import Report, Section, html_headline, html_sections, page

__all__ = ["Report", "Section", "html_headline", "html_sections", "page"]
