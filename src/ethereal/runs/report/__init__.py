"""The report: one HTML file with the model, its history and its measurements, and needs nothing else."""

from ethereal.runs.report.page import Report, render

__all__ = ["Report", "render"]
