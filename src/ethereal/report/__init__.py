"""The report: one HTML file that holds the model, its history and its measurements, and needs nothing else."""

from ethereal.report.page import Report, render

__all__ = ["Report", "render"]
