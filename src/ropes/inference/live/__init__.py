"""Live estimation: camera streams to angles, their filter over time, publishers and the page in the browser."""
