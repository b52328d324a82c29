"""How many anchors, or chains, a fit holds out of training."""


def held_out_count(anchors: int, fraction: float) -> int:
    """Number of held-out anchors: the nearest to the share, but at least one, and at least one is not held out.

    Args:
        anchors: number of all anchors, at least 2.
        fraction: share to hold out, in (0, 1).
    """
    return min(max(1, round(fraction * anchors)), anchors - 1)
