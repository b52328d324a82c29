"""One kind of row of results.json a module."""
