# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07 · A hundred classes: CIFAR-100
#
# **So far.** A divergence leaves alone what the model finds unlikely, and so it starts slowly (notebook 06). With ten classes that costs a few epochs.
#
# **The question.** With a hundred classes the paper calls the estimate of the product term "unstable", and trains 240 epochs with cross-entropy first. What exactly becomes unstable: the estimate, the start, or something that nobody looked at?
#
# Paper: §5.1, the CIFAR-100 rows of its tables, appendix C.4 and C.5 · Time: 12 min to read, 25 s to run (quick) · Needs: [04](04_mnist.ipynb), [06](06_cifar10.ipynb)
#
# **Contents**: 1 A hundred classes from ten digits · 2 Suspect one: the estimate · 3 Suspect two: the start · 4 Suspect three: an empty class · 5 Fifty pairs · 6 CIFAR-100 itself

# %% tags=["parameters", "fold"]
MODE = "quick"  # pairs of digits; "laptop" and "paper" train on CIFAR-100 itself
NOISE = "uniform"
METHOD = "tv"
SEED = 0
CORRECTION = "none"  # or "paper" or "exact", see notebook 09
TRANSITION = "estimated"  # or "true", where a T is needed

# %% [markdown]
# (Folded: settings and imports.)

# %% tags=["grid", "fold"]
try:
    from fdiv import (
        DMI,
        Experiment,
        check_noise,
        divergence,
        exact,
        fit,
        noise,
        noisy_data,
        our_accuracies,
        paper_accuracies,
        recipe,
        titled,
        variance_ratio,
    )
except ModuleNotFoundError as error:
    cure = "run  %pip install -e '..[notebooks]'  in a cell and restart the kernel, or start with  make lab"
    raise ModuleNotFoundError(f"this kernel has no {error.name}: {cure}") from None

import warnings
from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go
import torch

from fdiv.course import (
    check_parameters,
    claim,
    explore,
    images_figure,
    nb07 as exercises,
    predict,
    trained,
    watched,
    with_slider,
)

check_parameters(
    MODE=MODE,
    NOISE=NOISE,
    METHOD=METHOD,
    SEED=SEED,
    CORRECTION=CORRECTION,
    TRANSITION=TRANSITION,
)
NOISE = check_noise("cifar-100", NOISE)

# %% [markdown]
# ## 1 A hundred classes from ten digits
#
# No download, and still real images: two handwritten digits side by side, and the class is the two-digit number. A **bold** label is wrong. The digits of the test set occur in no training image.

# %% tags=["nbval-ignore-output", "fold"]
pairs = noisy_data("paired-digits", "uniform").split
captions = [
    f"{n:02d}" if n == c else f"<b>{n:02d}</b> ({c:02d})"
    for n, c in zip(
        pairs.train_labels[:18].tolist(),
        pairs.train_clean_labels[:18].tolist(),
        strict=True,
    )
]
images_figure(
    pairs.train_images[:18, 0].tolist(), captions, title="Training examples as given"
)

# %% [markdown]
# A quarter of the labels are wrong, as in the paper's uniform setting for CIFAR-100.
#
# ## 2 Suspect one: the estimate
#
# Algorithm 1 estimates its second term from images with labels that have nothing to do with them. For a network that is always sure, $f^*(g_f(\cdot))$ has one value where label and answer happen to agree, which is *once in $K$*, and another where they do not. Counting something so rare in a batch is noisy.
#
# ### Exercise 1 ★: Counting something rare
#
# An event of probability $1/K$ is counted in $B$ independent draws. What is the standard deviation of its share, divided by the mean of its share?


# %% tags=["exercise", "nbval-check-output"]
def scatter_of_share(num_classes, batch):
    raise NotImplementedError("your turn")


exercises.relative_scatter(scatter_of_share)

# %% [markdown]
# <details><summary>Hint</summary>
#
# One draw has mean $p = 1/K$ and variance $p(1-p)$.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def scatter_of_share(num_classes, batch):
#     p = 1 / num_classes
#     return (p * (1 - p) / batch) ** 0.5 / p
# ```
#
# It is $\sqrt{(K-1)/B}$: 27 % for 10 classes and a batch of 128, and 88 % for 100 classes.
#
# </details>

# %% [markdown]
# So with a hundred classes the sampled term scatters by nearly as much as it is worth, while the sum over classes (notebook 04) is a constant for such a network: every answer agrees with exactly one label. That sounds like the culprit. But training follows the gradient of the **whole** objective, first term minus second. Simulate both, for a network that agrees with seven noisy labels in ten:


# %%
def variances(num_classes, agreement=0.7, batch=128, draws=4000):
    generator = torch.Generator().manual_seed(SEED)
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    g = divergence("tv").activation(ends)
    dual = divergence("tv").conjugate_of_activation(ends)
    agrees = torch.rand(draws, batch, generator=generator) < agreement
    by_chance = torch.rand(draws, batch, generator=generator) < 1 / num_classes
    joint, product = g[agrees.long()].mean(1), dual[by_chance.long()].mean(1)
    return {
        "second term alone": (product.std() / product.mean()).item(),
        "ratio": ((joint - product).var() / joint.var()).item(),
    }


sizes = [2, 5, 10, 20, 50, 100, 200, 500, 1000]
scatter = pd.DataFrame({k: variances(k) for k in sizes}).T
scatter["ratio by theory"] = [variance_ratio("tv", k, 0.7) for k in sizes]

# %% tags=["predict"]
predict(
    "At 100 classes the sampled second term scatters by 88 % of its mean. How much more variance has the whole objective, sampled, than with the exact sum?",
    [
        "several times as much",
        "about half as much again",
        "about 5 % more",
    ],
    answer=2,
    why=[
        "Relative to *its own* mean the term scatters wildly. But with many classes that mean is tiny.",
        "That is the answer for ten classes.",
        "The rarer the accident, the less it adds. Sampling matters *less* with many classes.",
    ],
)

# %% tags=["nbval-ignore-output", "fold"]
figure = go.Figure()
for name, dash, colour in (
    ("second term alone", "solid", "#D55E00"),
    ("ratio", "solid", "#0072B2"),
    ("ratio by theory", "dot", "#444444"),
):
    label = {
        "second term alone": "second term alone: std / mean",
        "ratio": "whole objective: variance, sampled / exact",
        "ratio by theory": "the same, by theory",
    }[name]
    figure.add_scatter(
        x=sizes,
        y=scatter[name],
        name=label,
        mode="lines+markers",
        line={"dash": dash, "color": colour},
    )
figure.update_xaxes(type="log", title="number of classes K (log scale)", tickvals=sizes)
figure.update_yaxes(range=(0, 3))
figure.update_layout(
    title="What sampling the second term costs, total variation, batch 128",
    legend={"orientation": "h", "y": -0.3},
    height=440,
    margin_b=120,
)
figure

# %% [markdown]
# **What to see**: the orange line climbs, and the blue one falls to 1. The second term is unreliable and unimportant at the same time. (The dotted line is a formula that notebook 12 derives.) Suspect one is innocent.
#
# ## 3 Suspect two: the start
#
# Now train. One run starts with eight epochs of cross-entropy, another with total variation at once. Both have twenty epochs and the same seed.

# %% tags=["training"]
settings = recipe("paired-digits", "tv")
cold = replace(settings, schedule=((20, 2e-3),), warm_up=None)
histories = {
    "after a warm-up": trained(
        Experiment(dataset="paired-digits", noise="uniform", method="tv", seed=SEED)
    ).history,
    "from random weights": fit(pairs, "tv", cold, seed=SEED).history,
}

# %% tags=["predict"]
predict(
    "A hundred classes, a quarter of the labels wrong. What is a warm-up of eight epochs worth at the end?",
    [
        "a few points, as it was with ten classes",
        "more than ten points: it finds more classes",
        "nothing: both arrive at the same place",
    ],
    answer=1,
    why=[
        "The first pull is ten times weaker than with ten classes (notebook 06), and classes get lost before they are found.",
        "Total variation alone gives up on classes that it has not found yet: a label it finds unlikely is left alone, also a right one.",
        "Not within twenty epochs, and longer training does not bring lost classes back quickly.",
    ],
)

# %% tags=["nbval-ignore-output", "fold"]
figure = go.Figure()
for (name, history), colour in zip(
    histories.items(), ("#0072B2", "#D55E00"), strict=True
):
    figure.add_scatter(
        x=history["epoch"] + 20 - len(history),
        y=history["test_accuracy"],
        name=name,
        line_color=colour,
    )
figure.update_layout(
    title="Total variation with a hundred classes, a quarter of the labels wrong",
    xaxis_title="epoch, the warm-up counted",
    yaxis={"title": "clean accuracy", "tickformat": ".0%", "range": (0, 1)},
)
figure

# %% [markdown]
# **What to see**: there is the instability. It is **the start**, and a warm-up cures it.
#
# ## 4 Suspect three: an empty class
#
# One of the baselines has a problem of its own. DMI maximises $\log\lvert\det U\rvert$, where row $k$ of the $K \times K$ matrix $U$ sums the predictions of the examples labelled $k$. If a batch has no example of some class, that row is zero, **the determinant is zero, and so is the gradient**. Choose a batch size, and see the chance that a batch of balanced labels holds every class:


# %% tags=["interactive", "fold"]
def complete_figure(batch=128):
    figure, sizes = go.Figure(), [16, 32, 64, 128, 256, 512, 768, 1024, 1536, 2048]
    for classes, colour in ((10, "#0072B2"), (14, "#009E73"), (100, "#D55E00")):
        figure.add_scatter(
            x=sizes,
            y=[exercises.all_present(classes, b) for b in sizes],
            name=f"{classes} classes",
            line_color=colour,
        )
    chances = [exercises.all_present(k, batch) for k in (10, 14, 100)]
    figure.add_vline(x=batch, line_dash="dot", line_color="#999999")
    figure.update_xaxes(type="log", title="batch size (log scale)", tickvals=sizes[::2])
    figure.update_layout(
        title=f"Batch of {batch}: every class is there with the chance<br>"
        + ", ".join(f"{c:.1%}" for c in chances)
        + " (10, 14, 100 classes)",
        yaxis={"title": "chance", "tickformat": ".0%", "range": (0, 1.03)},
        margin_t=80,
    )
    return figure


explore(complete_figure, batch=[16, 32, 64, 128, 256, 512, 1024, 2048])

# %% [markdown]
# The paper's batch is 128. Try it with the loss itself, on batches of random predictions, and count how many have any gradient:


# %%
def share_with_gradient(num_classes, batch, draws=25):
    loss, alive = DMI(num_classes), 0
    generator = torch.Generator().manual_seed(SEED)
    for _ in range(draws):
        labels = torch.randint(num_classes, (batch,), generator=generator)
        logits = torch.randn(batch, num_classes, generator=generator)
        logits = (logits + 4 * torch.eye(num_classes)[labels]).requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss(logits, labels).backward()
        alive += bool(logits.grad.abs().max() > 0)
    return alive / draws


# %% [markdown]
# The share of batches that move the network at all:

# %% tags=["predict"]
predict(
    "DMI on CIFAR-100 starts from the cross-entropy warm-up and trains on in batches of 128. What will its column in the paper's table look like?",
    [
        "like the column of cross-entropy",
        "well above it: DMI is robust by construction",
        "far below it: it diverges",
    ],
    answer=0,
    why=[
        "No batch of 128 holds all hundred classes, so no step moves the network: it stays where the warm-up left it.",
        "It is, when there is a gradient.",
        "A gradient of zero does not diverge. It does nothing, and says nothing.",
    ],
)

# %% tags=["nbval-ignore-output"]
dmi = pd.DataFrame(
    {
        f"{k} classes": {f"batch {b}": share_with_gradient(k, b) for b in (128, 1024)}
        for k in (10, 100)
    }
)
hundred = paper_accuracies().query("table == 'main' and dataset == 'cifar-100'")
best = hundred.pivot(index="noise", columns="method", values="max")
dmi.map("{:.0%}".format)

# %% [markdown]
# And the paper's numbers for CIFAR-100, cross-entropy beside DMI, with the difference:

# %% tags=["nbval-check-output"]
best[["ce", "dmi"]].assign(difference=best["dmi"] - best["ce"]).round(2)

# %% [markdown]
# They agree to within a point: DMI stood still, and nobody was told.
#
# ### Exercise 2 ★★: How many classes does a batch hold?
#
# How many different classes does a batch of balanced labels hold on average?


# %% tags=["exercise", "nbval-check-output"]
def classes_in_a_batch(num_classes, batch):
    raise NotImplementedError("your turn")


exercises.classes_in_a_batch(classes_in_a_batch)

# %% [markdown]
# <details><summary>Hint</summary>
#
# What is the chance that one given class is absent? Expectations add up, whether events are independent or not.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def classes_in_a_batch(num_classes, batch):
#     absent = (1 - 1 / num_classes) ** batch
#     return num_classes * (1 - absent)
# ```
#
# With 100 classes and a batch of 128: 72.
#
# </details>

# %% [markdown]
# ## 5 Fifty pairs
#
# The paper's sparse noise for CIFAR-100 splits the classes into fifty random pairs and flips labels inside each pair. Choose *sorted*, and partners become neighbours: it is the same matrix.

# %% tags=["fold"]
T = torch.as_tensor(noise.paper_noise("cifar-100", "sparse"))
partner = (T - T.diagonal().diag()).argmax(1)
first = (T.diagonal() < 0.5).nonzero()[:, 0]
together = torch.stack([first, partner[first]], 1).flatten()

# %% [markdown]
# The stronger the colour, the more probable:


# %% tags=["nbval-check-output", "fold"]
def pairs_figure(order="as given"):
    rows = together if order == "sorted" else torch.arange(100)
    figure = go.Figure(
        go.Heatmap(
            z=T[rows][:, rows].float().numpy(),
            colorscale="Blues",
            zmin=0,
            zmax=1,
            showscale=False,
        )
    )
    figure.update_yaxes(range=(99.5, -0.5), title="clean class", scaleanchor="x")
    figure.update_yaxes(constrain="domain")
    figure.update_xaxes(title="noisy label", constrain="domain")
    return figure.update_layout(title=f"T of fifty pairs, {order}", height=520)


with_slider(pairs_figure, order=["as given", "sorted"])

# %% [markdown]
# ### Exercise 3 ★★: Misled classes
#
# Which classes of a noise matrix lose to another label? Return the indices of all classes $i$ for which some $j \neq i$ has $T_{ij} > T_{ii}$.


# %% tags=["exercise", "nbval-check-output"]
def misled_classes(T):
    raise NotImplementedError("your turn")


exercises.misled_classes(misled_classes)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Row $i$ holds what becomes of the labels of class $i$.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def misled_classes(T):
#     return [i for i, row in enumerate(T) if max(row) > row[i]]
# ```
#
# For the matrix above: fifty of a hundred.
#
# </details>

# %% [markdown]
# This is sparse-high again, ten times as large. What the formulas allow (the ceilings of notebook 03), and what total variation reaches on the paired digits:

# %% tags=["training", "nbval-ignore-output", "fold"]
ceilings = {
    "cross-entropy, at most": exact.ceiling("cross-entropy", T),
    "total variation, at most": exact.ceiling("tv", T),
}
reached = trained(
    Experiment(dataset="paired-digits", noise="sparse", method="tv", seed=SEED)
).accuracy("noisy-objective")
pd.Series(ceilings | {"total variation, trained": reached}).to_frame(
    "accuracy"
).T.round(2)

# %% [markdown]
# The paper's networks, which reach 73 % on clean CIFAR-100, measure this:

# %% tags=["nbval-check-output"]
best.loc[["sparse"], ["ce", "blc", "flc", "dmi", "pl", "tv", "js", "kl"]]

# %% [markdown]
# That is half of what they can do, or a little more. So a hundred classes do not make the mystery go away, and neither does another dataset.
#
# ### Exercise 4 ★★★: The batch that DMI needs
#
# What is the smallest batch of balanced labels that holds all $K$ classes with a chance of at least 95 %? `exercises.all_present(num_classes, batch)` is the chance, by inclusion and exclusion.


# %% tags=["exercise", "nbval-check-output"]
def smallest_batch(num_classes):
    raise NotImplementedError("your turn")


exercises.smallest_batch(smallest_batch)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The chance grows with the batch. Start at the number of classes.
#
# </details>
# <details><summary>Hint 2</summary>
#
# Going up one by one is slow for a hundred classes: double until it is enough, then halve the interval.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def smallest_batch(num_classes):
#     low, high = num_classes - 1, num_classes
#     while exercises.all_present(num_classes, high) < 0.95:
#         low, high = high, 2 * high
#     while high - low > 1:
#         middle = (low + high) // 2
#         if exercises.all_present(num_classes, middle) < 0.95:
#             low = middle
#         else:
#             high = middle
#     return high
# ```
#
# 51 for ten classes, 754 for a hundred.
#
# </details>

# %% [markdown]
# ## 6 CIFAR-100 itself
#
# One run, with the settings of the top: the paired digits in mode *quick*, CIFAR-100 itself in the others.

# %% tags=["grid", "training", "nbval-ignore-output"]
run = watched(
    Experiment(
        dataset="cifar-100",
        noise=NOISE,
        method=METHOD,
        mode=MODE,
        seed=SEED,
        correction=CORRECTION,
        transition=TRANSITION,
    )
)

# %% [markdown]
# What each rule of notebook 05 would report:

# %% tags=["grid", "nbval-ignore-output"]
run.summary().set_index("rule").round(3)

# %% [markdown]
# The paper's recipe, 240 epochs of warm-up and 100 of $D_f$ with PreAct ResNet-18, wants a GPU:
#
# ```bash
# fdiv train cifar-100 --mode paper --noise uniform --method tv --seed 0    # one run
# fdiv grid main --mode paper --only dataset=cifar-100 --seeds 3            # the table
# fdiv train cifar-100 --mode laptop --noise human-fine --method tv         # labels people gave
# ```
#
# We have not trained on CIFAR-100 itself, so here stands the paper's table alone. Runs of yours will stand below it, once `fdiv results` has collected them:

# %% tags=["nbval-ignore-output", "fold"]
ours = titled(our_accuracies().query("dataset == 'cifar-100'"))
shown = {"paper, best run": best}
if len(ours):
    column = 100 * ours.pivot_table("accuracy_noisy_objective", "noise", "method")
    shown["ours, mean of the seeds"] = column
pd.concat(shown).round(1)

# %% [markdown]
# ## Claims checked

# %% tags=["claim", "nbval-check-output", "fold"]
formula = [((k - 1) / 128) ** 0.5 for k in sizes]
claim(
    "the sampled second term scatters as the formula says",
    (scatter["second term alone"] / formula - 1).abs().max() < 0.1,
)
claim(
    "the whole objective has the variance that theory says, within a tenth",
    (scatter["ratio"] / scatter["ratio by theory"] - 1).abs().max() < 0.1,
)
claim(
    "with a hundred classes sampling adds less than 6 %, with ten more than 40 %",
    variance_ratio("tv", 100, 0.7) < 1.06 and variance_ratio("tv", 10, 0.7) > 1.4,
)
claim(
    "at batch 128 no batch of a hundred classes is complete, and nearly all of ten are",
    exercises.all_present(100, 128) < 1e-9 and exercises.all_present(10, 128) > 0.99,
)
claim("DMI has no gradient there", dmi.loc["batch 128", "100 classes"] == 0)
claim(
    "the paper's DMI is its cross-entropy within a point, in all four settings",
    (best["dmi"] - best["ce"]).abs().max() < 1,
)
clean = paper_accuracies().query("table == 'clean' and dataset == 'cifar-100'")
share = best.loc["sparse"] / clean["max"].max()
claim(
    "the paper's networks reach 73 % on clean labels, and half to 61 % of that with fifty pairs",
    round(clean["max"].max()) == 73 and share.min() > 0.495 and share.max() < 0.61,
)
claim(
    "fifty pairs halve the ceiling of cross-entropy and of total variation",
    set(ceilings.values()) == {0.5},
)

# %% [markdown]
# What training showed:

# %% tags=["claim", "nbval-check-output", "fold"]
end = {name: one["test_accuracy"].iloc[-1] for name, one in histories.items()}
claim(
    "with a hundred classes a warm-up is worth more than ten points",
    end["after a warm-up"] > end["from random weights"] + 0.10,
)
claim("fifty pairs stop total variation at one half", 0.4 < reached < 0.55)

# %% [markdown]
# ## Summary
# - With many classes the sampled second term is mostly noise, and matters less and less for the whole. The estimate is innocent.
# - The start is not: the first steps of $D_f$ are tiny, and classes get lost. A warm-up cures it, and is trained once for all methods.
# - DMI needs every class in every batch. At $K=100$ and batch 128 it silently does nothing.
# - Pairs of classes halve accuracy with a hundred classes as with ten.
#
# ## Further reading
# - Y. Xu et al., *L_DMI: A Novel Information-theoretic Loss Function for Training Deep Nets Robust to Label Noise*, NeurIPS 2019.
# - W. Feller, *An Introduction to Probability Theory*, vol. 1, IV.2: the chance that no cell is empty.
#
# ## To be continued
#
# All noise so far was drawn from a matrix: it looked at the class, never at the image. People look at the image. Give them the cat that looks like a dog, and they err together. What is left of the theory then? [08 Noise that people make: Clothing1M](08_clothing1m.ipynb)
