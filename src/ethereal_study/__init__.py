"""The paper's experiments: settings and published figures per data set."""
