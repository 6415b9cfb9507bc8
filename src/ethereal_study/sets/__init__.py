"""The public data sets of the study: where they come from, how they are fetched and read."""
