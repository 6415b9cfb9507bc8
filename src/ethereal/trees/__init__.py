"""Trees as a Model: our own that are boosted, and what learners answer to rows that they did not see."""
