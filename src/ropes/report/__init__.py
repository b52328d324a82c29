"""From results.json and the arrays beside it to what people see: one HTML page, figures, README tables."""
