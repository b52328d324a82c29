"""What is learnt from what: an objective and its recipe, one file a method."""
