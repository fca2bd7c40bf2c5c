"""Checkers of notebook 03."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fdiv import noise
from fdiv.course.exercises import Wrong, balanced, close, exercise, near, number, refuse, several, table
from fdiv.theory import exact
from fdiv.theory.divergences import Divergence, divergence

JOINT = torch.tensor([[0.3, 0.1, 0.05], [0.05, 0.2, 0.05], [0.0, 0.05, 0.2]], dtype=torch.float64)
RATES = torch.tensor([0.1, 0.2, 0.05], dtype=torch.float64)
T = torch.as_tensor(noise.uniform(RATES.numpy()))


@exercise(
    "1 the noisy table",
    because="All of the theory is this one product: noise acts on the label alone, whatever the classifier.",
)
def noisy_table(answer: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> None:
    """P T and its column sums."""
    wanted = "return two things: the noisy joint table, and the noisy label frequencies"
    joint, prior = (table(part) for part in several(answer(JOINT, T), wanted))
    if joint.shape != JOINT.shape:
        raise Wrong(
            f"the joint table must keep its shape {tuple(JOINT.shape)}, yours is {tuple(joint.shape)}"
        )
    if close(joint, T @ JOINT) or close(joint, T.T @ JOINT):
        raise Wrong("T acts on the labels, which are the columns: multiply from the right")
    if close(joint, JOINT @ T.T):
        raise Wrong("T is transposed: row i of T says what becomes of label i")
    if not close(joint, exact.noisy(JOINT, T)):
        raise Wrong("the joint table is not P(h, noisy Y): sum over the clean label i of P(h, i) T_ij")
    if close(prior, joint.sum(1)):
        raise Wrong("these are the frequencies of the predictions; the labels are the columns")
    if not close(prior, joint.sum(0)):
        raise Wrong("the noisy label frequencies are the column sums of the noisy table")


@exercise(
    "2 the correction, label by label",
    because="One subtraction, and g averages on noisy labels to what it would on clean ones, times ε. It is"
    " the paper's bias correction, and it needs only the rates e.",
)
def corrected_g(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """g minus its average over e."""
    g = torch.tensor([[1.0, -0.5, 0.2], [0.0, 0.7, -1.0], [0.3, 0.3, 2.0]], dtype=torch.float64)
    got = table(answer(g, RATES))
    right = g - (g @ RATES)[:, None]
    if got.shape != g.shape:
        raise Wrong("return a table of the shape of g")
    if close(got, right / (1 - RATES.sum())):
        raise Wrong("right up to the factor: this recovers E_P[g] itself; the exercise asks for ε times it")
    if close(got, g - RATES * g):
        raise Wrong("subtract the same number for every label: the sum over j of e_j g(h, j)")
    if close(got, g - (g.T @ RATES)):
        raise Wrong("average g over the labels of one prediction, along its row, not down its columns")
    value, target = (exact.noisy(JOINT, T) * got).sum(), (1 - RATES.sum()) * (JOINT * g).sum()
    if not close(value, target) or not close(got, right):
        raise Wrong(f"under the noisy table your g' averages to {value:.4f}, but ε E_P[g] is {target:.4f}")


@exercise(
    "3 undoing any noise",
    because="It holds for every invertible T, so that no class-conditional noise destroys information; the"
    " price is variance, which grows with the entries of the inverse.",
)
def clean_vd(answer: Callable[[Tensor, Tensor, Tensor, Tensor], object]) -> None:
    """Against the clean value, for a matrix that is not symmetric; the common slips are named."""
    rows = [[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]]
    channel = torch.tensor(rows, dtype=torch.float64)
    g = torch.tensor([[0.4, -0.5, 0.2], [0.0, 0.3, -0.4], [0.3, 0.1, 0.5]], dtype=torch.float64)
    dual = torch.exp(g - 1)
    joint = exact.noisy(JOINT, channel)
    got = number(answer(joint, g, dual, channel))
    product, undo = exact.product(joint), torch.linalg.inv(channel).T
    first = (joint * (g @ undo)).sum()
    slips = {
        "that is the noisy value: nothing has been undone": (joint * g).sum() - (product * dual).sum(),
        "only g is undone: apply the inverse to f*(g), too": first - (product * dual).sum(),
        "T is transposed: row i of the inverse goes with label i": (joint * (g @ undo.T)).sum()
        - (product * (dual @ undo.T)).sum(),
        "T itself adds the noise a second time: take its inverse": (joint * (g @ channel.T)).sum()
        - (product * (dual @ channel.T)).sum(),
        "the second average runs over the product of the margins, not over the joint": first
        - (joint * (dual @ undo)).sum(),
    }
    refuse(got, slips)
    right = exact.variational_difference(JOINT, g, "kl").item()
    if abs(got - right) > 1e-6:
        raise Wrong(f"for the table of the checker the clean value is {right:.6f}; yours is {got:.6f}")


@exercise(
    "5 where the formula peaks",
    because="No network, no optimiser, no sample: the formula itself would rather give the wrong name. So"
    " there is nothing to gain from training it better.",
)
def peak(answer: Callable[[Divergence, Sequence[float], Sequence[float]], object]) -> None:
    """The t that maximises the trained objective, for a pair of classes; near the top counts as the top."""
    t = torch.linspace(0, 1, 2001, dtype=torch.float64)
    v = torch.stack([t, 1 - t], dim=1)
    for name, eta, prior in (
        ("tv", (1.0, 0.0), (0.1, 0.1)),
        ("kl", (0.3, 0.7), (0.05, 0.15)),
        ("js", (0.3, 0.7), (0.05, 0.15)),
        ("squared-hellinger", (0.6, 0.4), (0.3, 0.7)),
    ):
        d = divergence(name)
        share, frequency = torch.tensor(eta).double(), torch.tensor(prior).double()
        gain, cost = d.activation(v) @ share, d.conjugate_of_activation(v) @ frequency
        heights, got = gain - cost, number(answer(d, eta, prior))
        case = f"for {d.title}, eta = {eta} and prior = {prior}"
        if not 0 <= got <= 1:
            raise Wrong(f"return the place of the top, a t from 0 to 1, not its height; yours is {got:.4g}")
        best, here = t[heights.argmax()].item(), heights[(t - got).abs().argmin()]
        if near(here.item(), heights.min().item()):
            raise Wrong(f"{case} that is where the objective is smallest")
        if near(got, t[gain.argmax()].item()) and here < heights.max() - 2e-4:
            raise Wrong("that is the top of the first term alone: subtract prior times f*(g)")
        if here < heights.max() - 2e-4:
            raise Wrong(f"{case} the top is at t = {best:.2f}; yours is at {got:.2f}, and lower")


@exercise(
    "4 bad but informative",
    because="A divergence measures information, not correctness: it needs somebody else to name the classes.",
)
def bad_but_informative(answer: Callable[[], Tensor]) -> None:
    """Accuracy 0.2, and a total variation of 0.3."""
    joint = balanced(answer())
    accuracy, value = exact.accuracy(joint).item(), exact.f_divergence(joint, "tv").item()
    if abs(accuracy - 0.2) > 1e-6:
        raise Wrong(f"its accuracy is {accuracy:.3g}, not 0.2: the accuracy is on the diagonal")
    if abs(value - 0.3) > 1e-6:
        raise Wrong(f"its total variation is {value:.3g}, and a classifier with accuracy 0.8 has 0.3")
