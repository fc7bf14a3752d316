"""A flight on one page: what a run folder's log comes to, as HTML that needs nothing else."""

from ghost.report.report import REPORT_NAME, write_report

__all__ = ["REPORT_NAME", "write_report"]
