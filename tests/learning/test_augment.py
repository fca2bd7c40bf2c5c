"""The random changes of images: each is one of those it may be, drawn for every image on its own."""

import pytest
import torch
from torchvision.transforms import InterpolationMode, functional

from fdiv.learning.augment import (
    AUGMENTATIONS,
    centre_crop,
    crop_flip,
    crop_flip_224,
    crop_flip_rotate,
    mirror,
    random_windows,
    rotate,
    shift,
    shift_flip,
    shift_flip_cut,
)

DTYPES = [torch.uint8, torch.float32, torch.float64]


def windows(images: torch.Tensor, height: int, width: int) -> dict[bytes, tuple[int, int, bool]]:
    """Every window of one image, as it is and mirrored, with where it was."""
    found = {}
    for top in range(images.shape[1] - height + 1):
        for left in range(images.shape[2] - width + 1):
            window = images[:, top : top + height, left : left + width]
            found[window.numpy().tobytes()] = (top, left, False)
            found[window.flip(2).numpy().tobytes()] = (top, left, True)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
def test_crops_are_windows_of_the_padded_image_some_mirrored(dtype):
    torch.manual_seed(0)
    image = torch.arange(1, 2 * 6 * 6 + 1).to(dtype).view(1, 2, 6, 6)
    known = windows(torch.nn.functional.pad(image, (2, 2, 2, 2))[0], 6, 6)
    crops = crop_flip(image.expand(2000, -1, -1, -1), padding=2)
    assert crops.dtype == dtype
    seen = [known[crop.numpy().tobytes()] for crop in crops]
    assert set(seen) == set(known.values())
    assert sum(mirrored for *_, mirrored in seen) == pytest.approx(1000, abs=100)


@pytest.mark.parametrize("dtype", DTYPES)
def test_shifts_are_windows_of_the_image_with_its_edge_reflected_some_mirrored(dtype):
    torch.manual_seed(0)
    image = torch.arange(1, 2 * 5 * 6 + 1).to(dtype).view(1, 2, 5, 6)
    reflected = torch.nn.functional.pad(image.double(), (2, 2, 2, 2), mode="reflect").to(dtype)
    known = windows(reflected[0], 5, 6)
    shifted = shift_flip(image.expand(2000, -1, -1, -1))
    assert shifted.dtype == dtype
    seen = [known[crop.numpy().tobytes()] for crop in shifted]
    assert set(seen) == set(known.values())
    assert sum(mirrored for *_, mirrored in seen) == pytest.approx(1000, abs=100)


@pytest.mark.parametrize(("side", "most"), [(8, 1), (16, 1), (28, 2)])
def test_a_shift_without_a_mirror_grows_with_the_picture(side, most):
    torch.manual_seed(0)
    places = torch.arange(float(side * side)).view(1, 1, side, side)
    moved = shift(places.expand(500, -1, -1, -1))[:, 0]
    corners = {tuple(one[most, most : most + 2].tolist()) for one in moved}
    reach = range(-most, most + 1)
    first = {side * (most + down) + most + across for down in reach for across in reach}
    assert corners == {(corner, corner + 1) for corner in first}


def test_a_shift_larger_than_the_image_is_refused():
    with pytest.raises(ValueError, match="a shift by 2 needs images larger than that, not 2 x 9"):
        shift_flip(torch.zeros(1, 1, 2, 9))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_hole_is_a_square_of_the_mean_colour_with_its_centre_anywhere(dtype):
    torch.manual_seed(0)
    images = torch.randint(0, 256, (3000, 2, 16, 24)).to(dtype)
    torch.manual_seed(1)
    whole = shift_flip(images)
    torch.manual_seed(1)
    cut = shift_flip_cut(images)
    assert cut.dtype == dtype
    colour = whole.double().mean((2, 3), keepdim=True)
    changed = (whole != cut).any(1)
    assert ((cut - colour).abs() <= 1)[changed[:, None].expand_as(cut)].all()
    rows, columns = changed.any(2).sum(1), changed.any(1).sum(1)
    assert rows.max() == columns.max() == 4  # a quarter of 16
    assert changed.any(0).all()  # each pixel is in some hole
    inside = (rows == 4) & (columns == 4)  # some pixel may have the mean colour already
    assert inside.double().mean() == pytest.approx(13 / 16 * 21 / 24, abs=0.05)


def test_a_mirrored_image_is_the_same_from_right_to_left():
    images = torch.rand(2, 3, 4, 5)
    assert mirror(images)[:, :, :, 1].equal(images[:, :, :, 3])
    assert mirror(mirror(images)).equal(images)


def test_rectangles_have_windows_too():
    torch.manual_seed(0)
    image = torch.arange(5 * 9, dtype=torch.uint8).view(1, 1, 5, 9)
    known = windows(image[0], 3, 4)
    seen = [known[crop.numpy().tobytes()] for crop in random_windows(image.expand(3000, -1, -1, -1), 3, 4)]
    assert set(seen) == set(known.values())


def test_images_of_clothes_are_cropped_to_224():
    torch.manual_seed(0)
    rows = torch.arange(256, dtype=torch.uint8)
    images = torch.stack([rows[:, None].expand(256, 256), rows.expand(256, 256)]).expand(400, -1, -1, -1)
    crops = crop_flip_224(images)
    assert crops.shape == (400, 2, 224, 224)
    assert crops.dtype == torch.uint8
    tops, corners = crops[:, 0, 0, 0].tolist(), crops[:, 1, 0, :].long()
    assert (min(tops), max(tops)) == (0, 32)
    steps = corners[:, 1] - corners[:, 0]
    assert set(steps.tolist()) == {1, -1}
    lefts = corners.min(1).values.tolist()
    assert (min(lefts), max(lefts)) == (0, 32)
    middle = centre_crop(images)
    assert middle.shape == (400, 2, 224, 224)
    assert middle[0, 0, :, 0].tolist() == middle[0, 1, 0].tolist() == list(range(16, 240))


@pytest.mark.parametrize("change", [crop_flip_224, centre_crop])
def test_what_is_too_small_to_crop(change):
    with pytest.raises(ValueError, match="224 x 224 needs images of at least that size, not 224 x 200"):
        change(torch.zeros(1, 3, 224, 200))


@pytest.mark.parametrize("shape", [(32, 32), (17, 17), (12, 20)])
def test_a_turn_is_that_of_torchvision(shape):
    images = torch.randint(1, 256, (6, 3, *shape), dtype=torch.uint8)
    degrees = torch.tensor([0.0, 15.0, -15.0, 7.3, -1.2, 90.0 if shape[0] == shape[1] else 11.1])
    turned = rotate(images, degrees)
    for image, angle, ours in zip(images, degrees.tolist(), turned, strict=True):
        theirs = functional.rotate(image, angle, InterpolationMode.NEAREST)
        # the nearest of two equally near pixels is a matter of rounding
        assert (ours == theirs).float().mean() > (0.999 if angle in (0, 90) else 0.98)
    assert turned[0].equal(images[0])
    assert (turned[1] == 0).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_turned_image_has_only_its_own_pixels(dtype):
    images = torch.randint(1, 256, (4, 3, 16, 16)).to(dtype)
    turned = rotate(images, torch.tensor([5.0, -10.0, 15.0, 3.0]))
    assert turned.dtype == dtype
    for image, after in zip(images, turned, strict=True):
        assert set(after.unique().tolist()) <= set(image.unique().tolist()) | {0}


def test_turns_are_drawn_for_each_image_between_the_limits(monkeypatch):
    from fdiv.learning import augment

    drawn = []
    monkeypatch.setattr(augment, "rotate", lambda images, degrees: drawn.append(degrees) or images)
    torch.manual_seed(0)
    crop_flip_rotate(torch.zeros(4000, 1, 8, 8))
    (degrees,) = drawn
    assert degrees.shape == (4000,)
    assert -15 <= degrees.min() < -14.9
    assert 14.9 < degrees.max() <= 15
    assert degrees.mean().abs() < 0.5
    assert degrees.std().item() == pytest.approx(15 / 3**0.5, rel=0.05)


@pytest.mark.parametrize("name", [name for name in AUGMENTATIONS if name != "none"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_training_changes_every_image_on_its_own_and_by_seed(name, dtype):
    size = 256 if "224" in name else 32
    image = torch.randint(0, 256, (1, 3, size, size)).to(dtype)
    images = image.repeat(12, 1, 1, 1)
    before = images.clone()
    torch.manual_seed(3)
    once = AUGMENTATIONS[name].train(images)
    torch.manual_seed(3)
    again = AUGMENTATIONS[name].train(images)
    assert once.equal(again)
    assert not once.equal(AUGMENTATIONS[name].train(images))
    assert len({crop.numpy().tobytes() for crop in once}) > 8
    assert images.equal(before)
    assert once.dtype == dtype


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_testing_is_not_random_and_of_the_same_size(name):
    images = torch.randint(0, 256, (4, 3, 256, 256), dtype=torch.uint8)
    state = torch.get_rng_state()
    tested = AUGMENTATIONS[name].test(images)
    assert torch.get_rng_state().equal(state)
    assert tested.shape == AUGMENTATIONS[name].train(images).shape
    if name != "crop224-flip":
        assert tested is images


def test_none_changes_nothing():
    images = torch.rand(2, 1, 8, 8)
    assert AUGMENTATIONS["none"].train(images) is images


def test_augmentations_are_found_by_name():
    names = ["none", "shift", "shift-flip", "shift-flip-cut", "crop-flip", "crop-flip-rotate", "crop224-flip"]
    assert list(AUGMENTATIONS) == names
    assert AUGMENTATIONS["Crop Flip"] is AUGMENTATIONS["crop-flip"]
    with pytest.raises(
        ValueError,
        match=r"no augmentation is called 'cropflap' \(did you mean 'crop-flip'\?\); "
        "choose from none, shift, shift-flip, shift-flip-cut, crop-flip, crop-flip-rotate, crop224-flip",
    ):
        AUGMENTATIONS["cropflap"]
