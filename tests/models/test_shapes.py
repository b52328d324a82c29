import re
from typing import Any

import pytest

from ropes.models.shapes import AE1Config, AE2Config, LDRConfig


def test_default_shapes_match_tables_3_to_5() -> None:
    one, two, ratio = AE1Config(), AE2Config(), LDRConfig()
    assert (one.image_size, one.stem) == (128, 1)
    assert (one.encoder_widths, one.decoder_widths) == ((64, 128, 256, 512), (512, 256, 128, 64))
    assert set(one.encoder_blocks + one.decoder_blocks) == {2}
    assert (two.encoder_widths, two.decoder_widths) == ((64, 128, 256), (512, 256, 128))
    assert (two.seed_width, two.blocks) == (256, 2)
    assert (ratio.widths, ratio.hidden, ratio.dropout) == ((32, 64, 128), 128, 0.0)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"image_size": 96}, "4 encoder stages and a stem of 1 need images of side 64 or 128, not 96"),
        ({"stem": 4}, "need images of side 256 or 512, not 128"),
        ({"encoder_blocks": (2, 2)}, "encoder: 4 widths but 2 numbers of blocks"),
        ({"decoder_widths": (8,), "decoder_blocks": (1,)}, "1 decoder stages and a stem of 1 need images of side 8"),
    ],
)
def test_incompatible_stages_raise(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)):
        AE1Config(**changes)
