"""One page of HTML: what the page of an export and the page of a report have in common."""
