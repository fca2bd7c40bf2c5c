# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 08 · Clothing1M: noise that people make
#
# **Why.** All theory so far assumes that the noise looks at the class only. People look at the image: they mislabel the cat that looks like a dog. You will measure that assumption instead of believing it, see which term of the theory it breaks, and what that does to training.
#
# Paper: §5.3 "Clothing1M", its table, appendix C.5 · Time: 20 min to read, 45 s to run (quick) · Needs: [03](03_decoupling_theorem.ipynb), [05](05_fashion_mnist.ipynb)
#
# **You will be able to**
# - make noise that depends on the image, and its twin that depends only on the class
# - test which of the two a set of labels has
# - say which term the decoupling theorem then lacks, and when it is zero
# - prove from three annotators' error rates that people err together
# - train on CIFAR-10N on a laptop, and on Clothing1M with one or more GPUs
#
# **Contents**: 1 Two kinds of mistakes · 2 A test · 3 The missing term · 4 What happens in training · 5 Human labels: CIFAR-10N · 6 One run · 7 Clothing1M · Claims checked · Exercises

# %% tags=["parameters"]
MODE = "quick"  # digits with image-dependent noise; "paper" trains on Clothing1M itself
NOISE = "human"
METHOD = "tv"
SEED = 0
CORRECTION = "none"
TRANSITION = "estimated"  # for the methods that need T; nobody knows the true one here

# %% [markdown]
# The imports, and a check of the parameters.

# %% tags=["grid", "fold"]
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch

from fdiv import noise
from fdiv.course import (
    check_parameters,
    claim,
    curves_figure,
    explore,
    images_figure,
    line_style,
    matrix_figure,
    watched,
    with_slider,
)
from fdiv.course.exercises import nb08 as exercises
from fdiv.datasets import load, noisy_split
from fdiv.experiments import (
    Experiment,
    human_noise,
    our_accuracies,
    paper_accuracies,
    recipe,
)
from fdiv.learning import fit, method_title
from fdiv.theory import exact

check_parameters(
    choices={"NOISE": ("human",), "TRANSITION": ("estimated",)},
    MODE=MODE,
    NOISE=NOISE,
    METHOD=METHOD,
    SEED=SEED,
    CORRECTION=CORRECTION,
    TRANSITION=TRANSITION,
)

# %% [markdown]
# ## 1 Two kinds of mistakes
#
# Let a **weak annotator** label the digits: a small classifier that has seen ten examples of each class, and errs more often where it is unsure. About 40 % of its labels are wrong. Its **twin** has exactly the same number of flips from each class to each other, but draws the images at random: class-conditional noise with the same $T$.

# %%
digits = load("digits")
clean = digits.train_labels
by_image = noise.corrupt_by_annotator(digits.train_images, clean, 0.4, SEED)
T = noise.noise_card(clean, by_image).realised_T
by_class = noise.corrupt_exact_counts(clean, T, SEED)
for name, labels in (("annotator", by_image), ("twin", by_class)):
    print(f"{name:10} {(labels != clean).float().mean():.1%} wrong")

# %% [markdown]
# Twelve of its mistakes. With some you may sympathise:

# %%
mistakes = (by_image != clean).nonzero().flatten()[:12].tolist()
images_figure(
    digits.train_images[mistakes, 0].tolist(),
    [f"{by_image[i]}  (is {clean[i]})" for i in mistakes],
    title="The annotator's label, and what it is",
)

# %% [markdown]
# And the $T$ that both share:

# %%
matrix_figure(T, title="T of the annotator and of its twin")

# %% [markdown]
# ## 2 A test
#
# Under class-conditional noise a flip is a coin toss: knowing the image, beyond its class, tells nothing about it. So **try to predict the flips**. Inside each class, fit a classifier on the pixels that says "this label was flipped", by cross-validation, and measure its AUROC. Under the assumption it is one half.

# %%
flip_auroc = {
    name: human_noise.flip_auroc(digits.train_images, clean, labels)
    for name, labels in (("annotator", by_image), ("twin", by_class))
}

# %% [markdown]
# The answer:

# %% tags=["nbval-ignore-output"]
pd.Series(flip_auroc, name="AUROC of predicting a flip").to_frame().T.round(3)

# %% [markdown]
# **What to see**: the annotator's flips can be foreseen, those of the twin cannot. $T$ is the same; the assumption is not in $T$.
#
# ## 3 The missing term
#
# Which step of notebook 03 breaks? Let there be two kinds of images, clear and unclear, half each, with symmetric noise at the rates $r(1-s)$ and $r(1+s)$. The class-level noise rate is $r$ whatever $s$ is. A model is right on clear images, and on unclear ones with probability $a$. Its agreement with the noisy labels is, kind by kind, $a_c\,(1 - r_c) + (1-a_c)\, r_c/(K-1)$. On average
#
# $$\text{agreement} \;=\; \underbrace{\bar a\,(1 - \bar r) + (1-\bar a)\tfrac{\bar r}{K-1}}_{\text{the theory}} \;-\; \tfrac{K}{K-1}\,\mathrm{Cov}(a_c, r_c).$$
#
# A model that errs where the labels err has a negative covariance: **it is rewarded for it.**


# %%
K, r = 10, 0.4
g = torch.where(torch.eye(K) > 0, 0.5 * torch.tanh(torch.tensor(1.0)), 0.0).double()


def joint_of(accuracy, T_kind):
    h = torch.full((K, K), (1 - accuracy) / (K - 1), dtype=torch.float64)
    h.fill_diagonal_(accuracy)
    return h.T @ torch.as_tensor(T_kind) / K


def missing(s, a):
    kinds = ((1.0, r * (1 - s)), (a, r * (1 + s)))
    noisy = sum(joint_of(acc, noise.symmetric(rate, K)) for acc, rate in kinds) / 2
    clean_joint = sum(joint_of(acc, np.eye(K)) for acc, _ in kinds) / 2
    theory = exact.noisy(clean_joint, noise.symmetric(r, K))
    return tuple(
        exact.variational_difference(j, g, "tv").item() for j in (noisy, theory)
    )


# %% [markdown]
# The objective that the learner sees, and the one the decoupling theorem computes from the average $T$. The slider moves $s$, how much the noise depends on the image:


# %%
def missing_figure(s=0.5):
    at = np.linspace(0, 1, 21)
    seen, theory = zip(*(missing(s, a) for a in at), strict=True)
    return curves_figure(
        {"noisy labels": seen, "clean labels": theory},
        at,
        names={"noisy labels": "what the learner sees", "clean labels": "the theory"},
        title=f"Total variation under noise that depends on the image, s = {s:g}",
        x_title="accuracy of the model on unclear images",
        y_title="objective on noisy labels",
        y_range=(0, 0.22),
    )


with_slider(missing_figure, s=[0, 0.25, 0.5, 0.75, 1])

# %% [markdown]
# **What to see**: the two meet at the right-hand end, whatever $s$ is: for a *perfect* model the accuracy does not vary, the covariance is zero, and the theorem holds. Left of it the learner sees more than the theory says, and the slope, which is all that pulls it upwards on unclear images, gets smaller. At $s = 1$ the labels of unclear images are 80 % wrong and the slope is nearly gone.
#
# Live, with the noise rate of your choice:


# %% tags=["interactive"]
def slope_figure(rate=0.4):
    at = np.linspace(0, 1, 21)
    slopes = [
        (1 - min(1.0, rate * (1 + s)) * K / (K - 1)) / (1 - rate * K / (K - 1))
        for s in at
    ]
    return curves_figure(
        {"noisy labels": slopes},
        at,
        names={"noisy labels": "unclear images"},
        title=f"Pull towards the truth, relative to the theory, noise rate {rate:.0%}",
        x_title="s, how much the noise depends on the image",
        y_title="slope / slope by the theory",
    ).add_hline(y=0, line_color="#999999")


explore(slope_figure, rate=(0.05, 0.6, 0.05))

# %% [markdown]
# Below zero the objective prefers a wrong answer on unclear images: robustness ends there, for every method that only knows $T$.
#
# ## 4 What happens in training
#
# Four methods, on the annotator's labels and on its twin's. Same images, same $T$, same noise rate.

# %% tags=["training"]
compared = ("ce", "flc", "tv", "js")
rows = []
for kind, labels in (("by image", by_image), ("by class", by_class)):
    split = noisy_split(digits, labels)
    for method in compared:
        for seed in (SEED, SEED + 1, SEED + 2):
            trained = fit(split, method, recipe("digits", method), seed=seed)
            rows.append((method, kind, seed, trained.accuracy("noisy-objective")))
trained = pd.DataFrame(rows, columns=["method", "noise", "seed", "accuracy"])
mean = trained.pivot_table("accuracy", "method", "noise").loc[list(compared)]

# %% [markdown]
# Mean over three seeds, the epoch chosen on noisy validation data:

# %% tags=["nbval-ignore-output"]
figure = go.Figure()
for kind, pattern in (("by class", ""), ("by image", "/")):
    figure.add_bar(
        x=[method_title(method) for method in compared],
        y=mean[kind],
        name=f"noise {kind}",
        marker={
            "color": [line_style(method)["color"] for method in compared],
            "pattern_shape": pattern,
        },
        text=[f"{value:.0%}" for value in mean[kind]],
        textposition="outside",
    )
figure.update_layout(
    title="The same T, two kinds of noise: clean test accuracy on the digits",
    yaxis={"title": "accuracy", "tickformat": ".0%", "range": (0, 1.02)},
)
figure

# %% [markdown]
# **What to see**: plain bars first. Under class-conditional noise the two divergences lead, as in notebook 05. Then the hatched ones: *the same $T$* costs every method another ten points or so, and the lead is gone. All four now learn the annotator's mistakes, because these are no accidents: images that look alike are mislabelled alike, and what can be foreseen can be learned. No selection of the epoch repairs that: the noisy validation labels make the same mistakes.
#
# ## 5 Human labels: CIFAR-10N
#
# Three people labelled each of the 50 000 training images of CIFAR-10 (Wei et al., 2022). The labels are free for research and come with one command; the paper's own human dataset, Clothing1M, needs a signed request. `human_noise.measure()` downloads both CIFAR-10 and the labels, checks their hashes, and measured this, on the real labels:

# %% tags=["nbval-check-output"]
people = human_noise.measured()
people.pivot_table(["wrong", "flip_auroc", "twin_auroc"], "labels", sort=False).round(3)

# %% [markdown]
# `wrong` is the share of wrong labels: *aggregate* is the majority of the three, *worse* a wrong one of the three wherever there is one. `flip_auroc` is the test of section 2 with coarse pixels as features, `twin_auroc` the same for labels drawn anew from the same $T$. Even coarse pixels foresee human mistakes.
#
# The $T$ of *worse*:

# %% tags=["nbval-check-output"]
names = "plane car bird cat deer dog frog horse ship truck"
matrix_figure(
    human_noise.measured_T("worse"),
    title="T of the labels 'worse'",
    names=names.split(),
)

# %% [markdown]
# **Do people err together?** A second test, which needs no images. If the three annotators erred independently given the class, then their error matrices would tell how often two of them outvote the truth. `majority_wrong` adds it up over all $10^3$ votes of each class:

# %% tags=["nbval-check-output"]
three = np.mean([human_noise.measured_T(f"random-{i}") for i in (1, 2, 3)], axis=0)
expected = human_noise.majority_wrong(three)
found = people.query("labels == 'aggregate'")["wrong"].iloc[0]
print(f"majority wrong if people erred independently {expected:.1%}")
print(f"majority wrong in CIFAR-10N                  {found:.1%}")

# %% [markdown]
# The vote is wrong a third more often than independence allows. There are images on which *everybody* errs, and no matrix $T$ says so.
#
# ### Training on them
#
# On a laptop, with a small network, some minutes each:
#
# ```bash
# fdiv train cifar-10 --noise human-worse --method ce
# fdiv train cifar-10 --noise human-worse --method tv
# ```
#
# What `data/results/accuracies.csv` holds of such runs, in percent of the clean test set:

# %% tags=["nbval-check-output"]
ours = our_accuracies().query("dataset == 'cifar-10' and noise.str.contains('human')")
if ours.empty:
    print("not run here yet")
for (kind, method), rows in ours.groupby(["noise", "method"]):
    print(f"{kind:16} {method:4} {100 * rows['accuracy_noisy_objective'].mean():.1f}")

# %% [markdown]
# ## 6 One run
#
# One method, from the parameters at the top: Clothing1M in mode *paper*; in mode *quick* the digits with noise that depends on the image, by the generator of Xia et al. that much of the literature uses. This part is what `fdiv grid` executes for the table.

# %% tags=["grid", "training", "nbval-ignore-output"]
run = watched(
    Experiment(
        dataset="clothing1m",
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
run.summary().round(4)

# %% [markdown]
# ## 7 Clothing1M
#
# A million photographs of clothes from shops, fourteen classes, labels taken from the text around them, about 38 % wrong. The paper trains a pre-trained ResNet-50 on a class-balanced part of it: ten epochs of cross-entropy, then thirty of $D_f$. Its table, as printed; the baselines are quoted there from their own papers:

# %% tags=["nbval-check-output"]
clothing = paper_accuracies().query("table == 'clothing1m'")
clothing[["method", "max"]].set_index("method").T

# %% [markdown]
# The recipe, from the one place where it stands:

# %% tags=["nbval-check-output"]
settings = recipe("clothing1m", "tv", "paper")
warm, rates = settings.warm_up, [rate for _, rate in settings.schedule]
pd.Series(
    {
        "network": settings.model,
        "warm-up": f"{warm.epochs} epochs of cross-entropy at {warm.learning_rate(0):g}",
        "then": f"{settings.epochs} epochs, from {rates[0]:g} down to {rates[-1]:g}",
        "optimiser": settings.optimiser,
        "momentum": settings.momentum,
        "weight decay": settings.weight_decay,
        "batch": settings.batch_size,
        "images": settings.augment,
    },
    name="Clothing1M, total variation",
).to_frame()

# %% [markdown]
# You need a copy of the data, which its authors give on request (T. Xiao et al., CVPR 2015), unpacked as they distribute it: `images/`, the key lists and the label files. Then:
#
# ```bash
# export FDIV_CLOTHING1M=/where/it/is
# fdiv train clothing1m --mode paper --noise human --method tv
# torchrun --nproc-per-node=4 -m fdiv train clothing1m --mode paper --noise human --method tv   # four GPUs
# fdiv grid clothing1m --mode paper
# ```
#
# Images are decoded by worker processes while the GPU trains, since they do not fit in memory; cropping and flipping happen on the GPU. With several GPUs each computes a part of every batch, and **the loss is still that of the whole batch**: the parts exchange their logits, so that also DMI's determinant and the plug-in's table are right.
#
# **Not run here**: neither the data nor a GPU were at hand. Loader, schedule and several processes are tested on a small tree of the same layout; two processes give the weights of one with the doubled batch.
#
# ## Claims checked

# %% tags=["claim", "nbval-check-output"]
claim(
    "the annotator's flips can be foreseen from the image",
    flip_auroc["annotator"] > 0.65,
)
claim("those of its twin cannot", abs(flip_auroc["twin"] - 0.5) < 0.08)
claim(
    "for a perfect model the theorem holds, however the noise looks at the image",
    max(abs(np.subtract(*missing(s, 1.0))) for s in (0, 0.5, 1)) < 1e-12,
)
claim(
    "for noise that does not look it holds for every model",
    abs(np.subtract(*missing(0, 0.3))) < 1e-12,
)
slope = 0.5 * np.tanh(1.0) * K / (K - 1)
covariance = [0.25 * (1.0 - a) * -2 * r * s for s, a in ((0.5, 0.2), (1.0, 0.6))]
gaps = [np.subtract(*missing(s, a)) for s, a in ((0.5, 0.2), (1.0, 0.6))]
claim(
    "otherwise the missing term is the covariance of accuracy and noise rate",
    np.allclose(gaps, -slope * np.array(covariance), rtol=1e-12),
)

# %% [markdown]
# About people, from the committed measurements:

# %% tags=["claim", "nbval-check-output"]
claim(
    "human flips can be foreseen from coarse pixels", people["flip_auroc"].min() > 0.52
)
claim("those of the twins cannot", (people["twin_auroc"] - 0.5).abs().max() < 0.02)
claim(
    "three people outvote the truth more often than independent ones would",
    found > 1.2 * expected,
)

# %% [markdown]
# And training, in mode quick:

# %% tags=["claim", "nbval-check-output"]
lead = mean.loc["tv"] - mean.loc["ce"]
claim(
    "under class-conditional noise total variation leads cross-entropy by two points",
    lead["by class"] > 0.02,
)
claim(
    "noise of the same T that looks at the image costs each method three points or more",
    (mean["by class"] - mean["by image"]).min() > 0.03,
)
claim(
    "and total variation at least three points of its lead",
    lead["by class"] - lead["by image"] > 0.03,
)

# %% [markdown]
# ## Summary
# - Class-conditional noise is an assumption that can be tested, with clean labels for a part of the data: try to foresee the flips.
# - Where noise looks at the image, decoupling lacks one term, the covariance of accuracy and noise rate. It is zero for a perfect model and rewards a model that errs where people err.
# - People err together. A majority vote cures less than independence promises.
# - Methods that know only $T$ lose part of their advantage; how much depends on the images, and only a run tells.
#
# ## Exercises
#
# **1.** A model has the accuracies `accuracy` on several kinds of images, equally frequent, whose labels have symmetric noise at the rates `rate`. How often does it agree with the noisy label?


# %% tags=["exercise", "nbval-check-output"]
def noisy_agreement(accuracy, rate, num_classes):
    raise NotImplementedError("your turn")


exercises.noisy_agreement(noisy_agreement)

# %% [markdown]
# <details><summary>Hint</summary>
#
# It agrees where it is right and the label too, and where both are wrong in the same way. Average at the end.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def noisy_agreement(accuracy, rate, num_classes):
#     each = [a * (1 - r) + (1 - a) * r / (num_classes - 1) for a, r in zip(accuracy, rate)]
#     return sum(each) / len(each)
# ```
#
# </details>

# %% [markdown]
# **2.** Three annotators err independently, each with probability $r$ and then for any other class alike. The majority counts; if all three differ, one of the three labels is drawn. How often is the result wrong?


# %% tags=["exercise", "nbval-check-output"]
def vote_of_three(r, num_classes):
    raise NotImplementedError("your turn")


exercises.vote_of_three(vote_of_three)

# %% [markdown]
# <details><summary>Hint</summary>
#
# It is wrong if (a) two are wrong with the same label and one is right, (b) two are wrong with different labels, one is right and the draw misses it, (c) all three are wrong.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def vote_of_three(r, num_classes):
#     same = 1 / (num_classes - 1)
#     two_wrong = 3 * r**2 * (1 - r)
#     return two_wrong * (same + (1 - same) * 2 / 3) + r**3
# ```
#
# </details>

# %% [markdown]
# **3.** Draw a class-balanced subset, as the paper does for Clothing1M: as many examples of each class as the rarest class has. Return indices.


# %% tags=["exercise", "nbval-check-output"]
def balanced_subset(labels):
    raise NotImplementedError("your turn")


exercises.balanced_subset(balanced_subset)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `np.flatnonzero(labels == k)` has the examples of class `k`; `np.bincount` counts the classes.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def balanced_subset(labels, rng=np.random.default_rng(0)):
#     labels = np.asarray(labels)
#     size = np.bincount(labels).min()
#     return [i for k in np.unique(labels) for i in rng.permutation(np.flatnonzero(labels == k))[:size]]
# ```
#
# </details>

# %% [markdown]
# ## Further reading
# - T. Xiao et al., *Learning from Massive Noisy Labeled Data for Image Classification*, CVPR 2015: Clothing1M.
# - J. Wei et al., *Learning with Noisy Labels Revisited: A Study Using Real-World Human Annotations*, ICLR 2022: CIFAR-N.
# - X. Xia et al., *Part-dependent Label Noise: Towards Instance-dependent Label Noise*, NeurIPS 2020.
# - P. Chen et al., *Beyond Class-Conditional Assumption: A Primary Attempt to Combat Instance-Dependent Label Noise*, AAAI 2021: testing the assumption on Clothing1M.
#
# **Next**: [09 Bias correction, and sparse-high solved](09_bias_correction.ipynb)
