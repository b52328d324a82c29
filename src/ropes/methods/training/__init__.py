"""The training loop and the stage that it trains."""
