"""A dataset of five classes and a loss, each registered in one place: what a researcher would write."""

import torch

from fdiv.datasets import CATALOGUE, Dataset, Entry
from fdiv.learning import METHODS, Method, NoisyLabelLoss


def blobs() -> Dataset:
    """Five noisy copies of five fixed images of 4 x 4 pixels."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.rand(5, 1, 4, 4, generator=generator)
    labels = torch.arange(500) % 5
    images = (centres[labels] + 0.15 * torch.randn(500, 1, 4, 4, generator=generator)).clamp(0, 1)
    return Dataset("toy-blobs", images[:400], labels[:400], images[400:], labels[400:], num_classes=5)


CATALOGUE.register(
    Entry(
        name="toy-blobs",
        title="Toy blobs",
        shape=(1, 4, 4),
        num_classes=5,
        train=300,
        validation=100,
        load=blobs,
        recipes="digits",
    )
)


class Focal(NoisyLabelLoss):
    """Cross-entropy weighted by (1 - p_y)^2 (Lin et al., 2017)."""

    def _rows(self, batch):
        log_p = batch.z.log_softmax(1).gather(1, batch.y[:, None])[:, 0]
        return -((1 - log_p.exp()) ** 2) * log_p


METHODS.register(
    Method(
        name="focal",
        title="Focal loss",
        build=lambda given: Focal(given.num_classes),
        recipe="ce",
        colour="#AA4499",
        dash="solid",
    )
)
