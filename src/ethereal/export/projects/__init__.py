"""The folders that tools and boards expect. A new one is a folder with templates and a `project.json`."""

from importlib import resources

HOME = resources.files("ethereal.export.projects")
PROJECTS = tuple(sorted(entry.name for entry in HOME.iterdir() if (entry / "project.json").is_file()))
