"""Networks only: what a module computes, never how it is trained."""
