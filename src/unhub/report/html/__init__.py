"""The report as one file that opens anywhere: a story, drawn and written as HTML with nothing from outside."""

from unhub.report.html.page import LIMIT, html_report

__all__ = ["LIMIT", "html_report"]
