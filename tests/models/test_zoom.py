"""Whole images are averages of the larger ones, and windows show the same part of them in more pixels."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from ropes.common import png
from ropes.methods.anchored.contrast import attention_loss
from ropes.methods.training.registration import variation
from ropes.models import cleaner
from ropes.models.cleaner import Cleaner
from ropes.models.coarse_registration import ZoomedRegistration
from ropes.models.encoder import PoseEncoder, foreground
from ropes.models.registration import Registration
from ropes.models.shapes import EncoderConfig
from ropes.models.student import StudentNetwork
from ropes.models.zoom import Window, shrink
from tests.models.camera_frames import SIDE, frames
from tests.models.test_encoder import SMALL
from tests.models.test_student import finding

ZOOMED = replace(SMALL, window_image_size=32)


def images(poses: int, side: int = 32) -> Tensor:
    return torch.from_numpy(np.random.default_rng(poses).integers(0, 256, (poses, 2, side, side), np.uint8))


@pytest.mark.parametrize("factor", [1, 2, 4, 8, 16])
def test_shrink_matches_the_training_cache(factor: int) -> None:
    large = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (3, 2, 48, 48), np.uint8))
    large[0], large[1, 0] = 255, 1
    expected = [[png.letterbox(Image.fromarray(view.numpy()), 48 // factor) for view in pose] for pose in large]
    assert torch.equal(shrink(large, factor), torch.from_numpy(np.array(expected)))
    assert shrink(large, 1) is large


def test_means_are_rounded_half_up_for_any_factor() -> None:
    pixels = torch.tensor([[0, 0, 0, 9], [0, 0, 0, 9], [0, 4, 0, 9]], dtype=torch.uint8)
    assert shrink(pixels[:, :3], 3).tolist() == [[0]]  # 4/9
    assert shrink(pixels[:, 1:], 3).tolist() == [[3]]  # 31/9
    assert shrink(torch.tensor([[0, 1], [1, 0]], dtype=torch.uint8), 2).tolist() == [[1]]


def test_a_window_has_the_pixels_around_its_centre() -> None:
    planes = torch.arange(2 * 36).reshape(1, 2, 6, 6)
    window = Window.around(torch.tensor([[[2.0, 3.0], [0.0, 5.0]]]), 2, 6)
    assert torch.equal(window.cut(planes)[0, 0], planes[0, 0, 1:3, 2:4])
    assert window.inside[0, 0].all()
    assert window.inside[0, 1].tolist() == [[False, False], [True, True]]
    assert window.cut(planes)[0, 1].tolist() == [[40, 41], [40, 41]]
    cells = torch.arange(2 * 9).reshape(1, 2, 3, 3)
    assert window.cut(cells, 2)[0, 0].tolist() == [[1, 1], [cells[0, 0, 1, 1]] * 2]


def central(network: PoseEncoder) -> PoseEncoder:
    """Let it look at the middle of every image."""
    last = network.gaze[1]
    assert isinstance(last, nn.Conv2d)
    nn.init.zeros_(last.weight)
    return network


def zoomed(small: PoseEncoder) -> PoseEncoder:
    """A network that reads images enlarged by 2 as `small` reads them: its patches average over 2 by 2 pixels."""
    large = PoseEncoder(ZOOMED, views=2, joints=3).eval()
    state = {name: value.clone() for name, value in small.state_dict().items()}
    patches = state["window.0.0.weight"]
    state["window.0.0.weight"] = patches.repeat_interleave(2, 2).repeat_interleave(2, 3) / 4
    background = small.background.mul(255).round().to(torch.uint8)
    state["window_background"] = background.repeat_interleave(2, 1).repeat_interleave(2, 2)
    large.load_state_dict(state)
    return large


def test_enlarged_images_give_the_same_coordinates() -> None:
    torch.manual_seed(0)
    small = central(PoseEncoder(SMALL, views=2, joints=3).eval())
    small.adapt(images(9, 16))
    seen = images(4, 16)
    enlarged = seen.repeat_interleave(2, 2).repeat_interleave(2, 3)
    torch.testing.assert_close(zoomed(small)(enlarged), small(seen))


def test_window_shows_detail_absent_from_the_whole_image() -> None:
    torch.manual_seed(0)
    network = central(PoseEncoder(ZOOMED, views=2, joints=3).eval())
    network.adapt(images(9))
    seen = images(1)
    finer = seen.clone()
    finer[:, :, 14:18, 14:18] = seen[:, :, 14:18, [15, 14, 17, 16]]  # squares of two by two pixels keep their means
    assert torch.equal(network.channels(seen), network.channels(finer))
    assert not torch.equal(network(seen), network(finer))
    beyond = seen.clone()
    beyond[:, :, :8, :8] = seen[:, :, :8, [1, 0, 3, 2, 5, 4, 7, 6]]  # the window has the 16 pixels in the middle
    assert torch.equal(network(seen), network(beyond))


def test_window_input_is_relative_to_the_large_background() -> None:
    torch.manual_seed(0)
    network = central(PoseEncoder(ZOOMED, views=2, joints=3).eval())
    backgrounds = images(1).repeat(5, 1, 1, 1)
    network.adapt(backgrounds)
    assert torch.equal(network.window_background, backgrounds[0])
    assert torch.equal(network.background, shrink(backgrounds[0], 2) / 255)
    found: list[Tensor] = []
    network.window[0].register_forward_pre_hook(lambda _, inputs: found.append(inputs[0]))
    seen = images(2)
    network(seen)
    middle = slice(8, 24)
    expected = foreground(seen[:, :, middle, middle], backgrounds[0, :, middle, middle] / 255, network.spread)
    torch.testing.assert_close(found[0], expected)
    network(backgrounds[:1])
    assert not found[1].any()


def test_student_masks_foreign_parts_in_the_window_too() -> None:
    torch.manual_seed(0)
    network = StudentNetwork(ZOOMED, views=2, joints=3).eval()
    for encoder in filter(None, (network.encoder, network.teacher)):
        central(encoder)
    found: list[Tensor] = []
    network.encoder.window[0].register_forward_pre_hook(lambda _, inputs: found.append(inputs[0]))
    detected = torch.zeros(2, 4, 4, dtype=torch.bool)
    detected[1, 1, 2] = True  # in the large images rows 8 to 15 and columns 16 to 23 of the second view
    finding(network, detected)
    seen = images(1)
    network.read(seen)
    hidden = ~found[0].any(1)[0]
    assert not hidden[:, :8].any()
    shown = found[0].unflatten(1, (2, 2))[0].any(0)
    assert not shown[1, :8, 8:].any()
    for part in (shown[0], shown[1, 8:], shown[1, :8, :8]):
        assert part.float().mean() > 0.95  # a pixel may have the level of the background


def test_weights_without_larger_images_keep_their_names_and_shapes() -> None:
    small, large = (PoseEncoder(config, views=2, joints=3).state_dict() for config in (SMALL, ZOOMED))
    assert set(large) - set(small) == {"window_background"}
    changed = [name for name, value in small.items() if value.shape != large[name].shape]
    assert changed == ["window.0.0.weight"]
    assert large["window.0.0.weight"].shape[2:] == (4, 4)


@pytest.mark.parametrize(
    ("size", "window", "message"),
    [
        (24, 8, "window_image_size must be a multiple of the image_size of 16, for example 32, not 24"),
        (8, 8, "window_image_size must be a multiple of the image_size of 16, for example 32, not 8"),
        (0, 8, "window_image_size must be a multiple of the image_size of 16, for example 32, not 0"),
        (32, 0, "without a window no window_image_size has an effect; leave it out"),
    ],
)
def test_incompatible_sizes_raise(size: int, window: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SMALL, window=window, window_image_size=size)


def test_window_images_have_the_whole_image_size_by_default() -> None:
    same = replace(SMALL, window_image_size=16)
    assert same == SMALL
    assert (same.zoom, same.input_size) == (1, 16)
    assert (ZOOMED.zoom, ZOOMED.input_size) == (2, 32)
    assert EncoderConfig(window_image_size=512).zoom == 4


def test_attention_loss_uses_the_whole_images() -> None:
    large = images(10).unflatten(0, (2, 5))
    attention, trusted = torch.randn(2, 5, 2, 4, 4), torch.ones(2, 5, dtype=torch.bool)
    small = attention_loss(attention, shrink(large, 2), 1, trusted)
    torch.testing.assert_close(attention_loss(attention, large, 1, trusted, 2), small)


@pytest.fixture(scope="module")
def registration() -> ZoomedRegistration:
    fitted = ZoomedRegistration(2, SIDE, zoom=2)
    fitted.adapt(frames().images)
    return fitted


def test_zoomed_registration_is_estimated_at_low_resolution_in_large_pixels(
    registration: ZoomedRegistration,
) -> None:
    recorded = frames()
    levels = recorded.images.float() / 255
    found, same = registration.estimate(levels), Registration(2, SIDE)
    same.adapt(recorded.images)
    assert found.shape == same.estimate(levels).shape
    for k, shift in ((2, recorded.down), (3, recorded.right)):
        error = found[..., k] - found[..., k].mean(0) + shift - shift.mean(0)
        assert error.square().mean().sqrt() < 0.2  # at half the size shifts are half as many pixels
        assert np.corrcoef(found[..., k].flatten(), -shift.flatten())[0, 1] > 0.93
    torch.testing.assert_close(registration.std[:, 2:], same.std[:, 2:] / 2, rtol=0.2, atol=0.02)


def test_large_frames_are_composited_on_their_background(registration: ZoomedRegistration) -> None:
    recorded = frames()
    composited, background = registration(recorded.images), registration.background.mul(255).round()
    still = ~recorded.arm
    assert composited.shape == recorded.images.shape
    assert (composited == background)[still].float().mean() > 0.8
    assert (recorded.images != background)[still].float().mean() > 0.7
    whole = registration.small(shrink(recorded.images, 2)).float()
    assert (shrink(composited, 2).float() - whole).abs().mean() < 3
    assert registration.drifted(recorded.images // 3)[0].float().mean() > 0.9
    assert registration.drifted(recorded.images)[1].float().mean() < 0.1


def test_zoomed_registration_keeps_background_and_noise_of_saturated_pixels() -> None:
    recorded = frames(brighter=1.35)
    images = recorded.images
    saturated = (images >= 253).float().mean(0)
    often = (saturated > 0.2) & (saturated < 0.6)
    assert often.float().mean() > 0.01
    zoomed, whole = ZoomedRegistration(2, SIDE, zoom=2), Registration(2, SIDE)
    zoomed.adapt(images)
    whole.adapt(images)
    assert (zoomed.background - whole.background)[often].abs().mean() < 0.0026
    assert zoomed.noise[often].mean() < 1.4 * whole.noise[often].mean()


def test_registration_summary_is_in_pixels_of_the_frames(registration: ZoomedRegistration) -> None:
    whole = Registration(2, SIDE)
    whole.adapt(frames().images)
    large, same = (float(variation(each).split("position by ")[1].split()[0]) for each in (registration, whole))
    assert large == pytest.approx(same, rel=0.2)


def test_frames_are_cleaned_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    cleaned = Cleaner(torch.rand(2, 32, 32), views=2, zoom=2).eval()
    nn.init.normal_(cleaned.background, 0.5, 0.2)
    seen, sizes = images(10), list[int]()
    cleaned.register_forward_pre_hook(lambda _, inputs: sizes.append(len(inputs[0])))
    whole = cleaned.clean(seen)
    monkeypatch.setattr(cleaner, "CHUNK_BYTES", 4 * seen[0].nbytes)
    assert torch.equal(cleaned.clean(seen), whole)
    assert sizes == [10, 4, 4, 2]
    assert cleaned.clean(seen[:0]).shape == seen[:0].shape
