"""The page that helps to choose a loss: its lines of code run, and its lessons exist."""

import pytest
import torch

import fdiv.learning as learning
from fdiv.course.notebooks import FOLDER
from fdiv.course.site.choice import TREE, Advice
from fdiv.noise import symmetric


def ends(node):
    return [node] if isinstance(node, Advice) else [end for to in node.answers.values() for end in ends(to)]


@pytest.mark.parametrize("advice", ends(TREE), ids=lambda advice: advice.code)
def test_a_path_ends_in_a_loss_that_learns_and_in_lessons_that_exist(advice):
    T = symmetric(0.3, 4)
    loss = eval(advice.code, vars(learning) | {"K": 4, "T": T, "T_estimated": T})
    z = torch.randn(8, 4, requires_grad=True)
    loss(z, torch.arange(8) % 4).backward()
    assert z.grad.abs().sum() > 0
    for number in advice.notebooks:
        assert list(FOLDER.glob(f"{number}_*.ipynb")), number
