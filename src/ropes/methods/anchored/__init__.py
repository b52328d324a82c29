"""Methods `ldr` and `anchored`: one encoder from images to coordinates."""
