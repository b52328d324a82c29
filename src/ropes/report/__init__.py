"""From results.json to what people read: an HTML page, figures, Markdown tables."""
