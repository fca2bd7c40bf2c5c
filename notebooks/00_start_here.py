# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 00 · Start here
#
# **Why.** A network can learn the wrong labels by heart, and then it repeats them. One change to what it maximises prevents that, and this notebook shows it in a minute.
#
# Paper: §1 and §2 · Time: 3 min to read, 20 s to run (quick) · Needs: nothing
#
# **You will be able to**
# - say what a label-noise problem is, and see one
# - watch cross-entropy memorise wrong labels, and total variation leave them alone
# - use the sliders, the exercises, `MODE` and papermill in the rest of the course
#
# **Contents**: 1 Play first · 2 Half the labels are wrong · 3 Two things to maximise · 4 Train both · 5 Look closer · 6 The course · Claims checked · Exercises

# %% tags=["parameters"]
MODE = "quick"  # "laptop" and "paper" train three times as long here
SEED = 0

# %% [markdown]
# Every notebook starts like this: a cell of parameters, then a cell that refuses what it cannot run with.

# %% tags=["fold"]
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from fdiv.course import (
    check_parameters,
    claim,
    curves_figure,
    explore,
    images_figure,
    seed_everything,
    shares_figure,
    show_environment,
    with_slider,
)
from fdiv.course.exercises import nb00
from fdiv.course.widgets import memorisation_machine
from fdiv.datasets import digits

check_parameters(MODE=MODE, SEED=SEED)
EPOCHS = 100 if MODE == "quick" else 300

# %% [markdown]
# ## 1 Play first
#
# Two small networks learn from the same points, and four labels in ten are wrong. They differ in one thing: what they maximise. Press *play* and watch the rings, each around a point with a wrong label: a ring fills when a network has learned that label by heart. Then change the noise, or the losses, and play again.

# %%
memorisation_machine()

# %% [markdown]
# **What to see**: cross-entropy bends its regions around single points until it repeats the wrong labels; total variation keeps its regions simple and leaves most of them alone. The rest of this notebook does the same with real images.

# %% [markdown]
# ## 2 Half the labels are wrong
#
# The data are real: 1797 handwritten digits that come with scikit-learn. We train on 1297 of them and test on the other 500.

# %%
data = digits()
clean = data.train_labels
print(
    f"{len(clean)} to train on, {len(data.test_labels)} to test on, images of {tuple(data.train_images.shape[1:])}"
)

# %% [markdown]
# Now the noise. With probability one half, an example loses its label and gets one of the other nine instead, at random. This is what we train on. The test labels stay clean.

# %%
rng = np.random.default_rng(SEED)
flipped = torch.as_tensor(rng.random(len(clean)) < 0.5)
noisy = torch.where(
    flipped, (clean + torch.as_tensor(rng.integers(1, 10, len(clean)))) % 10, clean
)

# %% [markdown]
# Here are twelve training examples as the learner sees them. The label it gets stands above each image; *was* marks a flip and tells what the learner is never told.

# %%
captions = [
    f"{n}  (was {c})" if n != c else f"{n}"
    for n, c in zip(noisy[:12], clean[:12], strict=True)
]
images_figure(
    data.train_images[:12, 0].tolist(),
    captions,
    title="Twelve training examples and their labels",
)

# %% [markdown]
# You can tell the wrong ones at a glance. The learner has only pairs of an image and a label: **learning with noisy labels is to predict the true label $Y$ although you only ever saw $\tilde Y$.**
#
# The table of all flip probabilities, $T_{ij} = P(\tilde Y = j \mid Y = i)$, is called the transition matrix. Ours has 0.5 on the diagonal and $0.5/9$ everywhere else, so the true class is still the most frequent label of each class. That is why there is hope.
#
# ## 3 Two things to maximise
#
# **Cross-entropy** asks for a high probability of the label you were given, whatever it is. A wrong label is punished without limit when the model disagrees, so in the end the model gives in.
#
# **Total variation**, one of the paper's f-divergences, asks something else: *agree with the label you were given more than with a label drawn at random.* With $v = h_x[y]$ the softmax probability of class $y$ and $g(v) = \tfrac12\tanh v$, it maximises
#
# $$\underbrace{\mathbb E\, g(h_X[\tilde Y])}_{\text{your label}} \;-\; \underbrace{\mathbb E\, g(h_X[\tilde Y'])}_{\text{a random example's label}} .$$
#
# In code both are losses, to be minimised. Each is a few lines.

# %%
label_prior = torch.bincount(noisy, minlength=10) / len(noisy)


def total_variation(logits, labels):
    g = torch.tanh(logits.softmax(dim=1)) / 2
    your_label = g.gather(1, labels[:, None]).mean()
    random_label = (g @ label_prior).mean()
    return random_label - your_label


# %% [markdown]
# Notebooks 01 to 03 derive this loss and prove when it is robust; notebook 04 explains the line `g @ label_prior`.
#
# ## 4 Train both
#
# The same small network, the same noisy labels, the same seed, the same optimiser. After each epoch we note its predictions.
#
# One thing to know about this demonstration: of the four settings we tried, we kept the width and the number of epochs at which cross-entropy finishes memorising within seconds. A narrower network, or fewer epochs, memorises less and so falls less; change them below and see. The comparison of methods under the paper's own settings belongs to the later notebooks.


# %%
def train(loss_function):
    seed_everything(SEED)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    history = []
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(noisy)).split(64):
            optimiser.zero_grad()
            loss_function(model(data.train_images[batch]), noisy[batch]).backward()
            optimiser.step()
        with torch.no_grad():
            history.append(
                (model(data.train_images).argmax(1), model(data.test_images).argmax(1))
            )
    return history


# %% tags=["training"]
history = {"ce": train(cross_entropy), "tv": train(total_variation)}

# %% [markdown]
# First the number we care about: accuracy on **clean** test digits.

# %% tags=["nbval-ignore-output"]
NAMES = {"ce": "cross-entropy", "tv": "total variation"}
epochs = list(range(1, EPOCHS + 1))
accuracy = {
    m: [(t == data.test_labels).double().mean().item() for _, t in history[m]]
    for m in history
}
curves_figure(
    accuracy,
    epochs,
    names=NAMES,
    title="Accuracy on clean test digits",
    x_title="epoch",
    y_title="test accuracy",
    y_range=(0.4, 1),
)

# %% [markdown]
# Both are good at first. Then cross-entropy falls, epoch by epoch, while total variation stays where it was. What is cross-entropy doing all that time? Look at the training examples whose label was flipped, and count how many of those wrong labels the model repeats.

# %% tags=["nbval-ignore-output"]
memorised = {
    m: [(p[flipped] == noisy[flipped]).double().mean().item() for p, _ in history[m]]
    for m in history
}
curves_figure(
    memorised,
    epochs,
    names=NAMES,
    title="Wrong labels learned by heart",
    x_title="epoch",
    y_title="share of flips repeated",
    y_range=(0, 1),
)

# %% [markdown]
# The two figures are one story: as the wrong labels go in, the accuracy goes out. Total variation ends with nearly all of the flips **not** learned, though nobody told it which they were, or how many.
#
# ## 5 Look closer
#
# In JupyterLab the next figure has a slider. It starts at the last epoch: drag it to the left, back in time, and **watch the orange part of the left bar shrink**. Those are the examples whose wrong label the model has come to believe. (On a web page it is drawn once, at the last epoch.)


# %% tags=["interactive", "nbval-ignore-output"]
def verdict_shares(predicted):
    said_truth = (predicted == clean)[flipped].double().mean().item()
    said_label = (predicted == noisy)[flipped].double().mean().item()
    return {
        "the true digit": said_truth,
        "the wrong label": said_label,
        "something else": 1 - said_truth - said_label,
    }


def verdicts_figure(epoch=EPOCHS):
    shares = {NAMES[m]: verdict_shares(history[m][epoch - 1][0]) for m in history}
    return shares_figure(
        shares, title=f"What the model says about the flipped examples, epoch {epoch}"
    )


explore(verdicts_figure, epoch=(1, EPOCHS, 1))

# %% [markdown]
# The blue part is the surprise of this course: the model was shown a wrong label a hundred times, and still names the true digit.
#
# The slider below is plotly's own: it works without Python, on a web page too. It shows six of the flipped examples, and what cross-entropy makes of them as it trains.


# %% tags=["nbval-ignore-output"]
def memorising_figure(epoch=5):
    some = flipped.nonzero()[:6, 0]
    said = history["ce"][epoch - 1][0][some]
    captions = [
        f"says {s}<br>label {n}, was {c}"
        for s, n, c in zip(said, noisy[some], clean[some], strict=True)
    ]
    return images_figure(
        data.train_images[some, 0].tolist(),
        captions,
        title=f"Cross-entropy, epoch {epoch}",
    )


with_slider(memorising_figure, epoch=[1, 5, 10, 20, 40, 60, 80, 100])

# %% [markdown]
# At epoch 5 it mostly says what the digit *was*. At epoch 100 it says what the label *is*.
#
# ## 6 The course
#
# | notebook | teaches |
# |---|---|
# | **00 Start here** | the claim in a minute |
# | [01 Divergences and conjugates](01_divergences_and_conjugates.ipynb) | f, its conjugate, the variational bound |
# | [02 Noise models](02_noise_models.ipynb) | transition matrices, the paper's settings |
# | [03 Decoupling theorem](03_decoupling_theorem.ipynb) | noisy objective = clean objective + bias |
# | [04 MNIST](04_mnist.ipynb) | Algorithm 1 line by line |
# | [05 Fashion-MNIST](05_fashion_mnist.ipynb) | all methods in one harness |
# | [06 CIFAR-10](06_cifar10.ipynb) | warm-up, the robustness curve |
# | [07 CIFAR-100](07_cifar100.ipynb) | a hundred classes |
# | [08 Clothing1M](08_clothing1m.ipynb) | human noise |
# | [09 Bias correction](09_bias_correction.ipynb) | estimating and undoing T |
# | [10 Paper tables](10_paper_tables.ipynb) | every table, ours beside theirs |
#
# **Sliders.** They need a running kernel: open the notebook in JupyterLab (`make lab`) and run all cells. On a web page the figures like the one above are alive too, and sliders move between prepared pictures.
#
# **Exercises.** Fill in the function, run the cell, read the verdict. A hint and a solution are folded under each.
#
# **MODE.** Every notebook has a parameter `MODE`: `quick` (the embedded digits, about a minute, what you just ran), `laptop` (the real dataset, minutes on a CPU) and `paper` (the paper's recipe, meant for a GPU). Change it in the first code cell, or from a terminal with papermill:
#
# ```
# papermill notebooks/00_start_here.ipynb out.ipynb -p MODE laptop -p SEED 1
# ```
#
# A parameter that the notebook does not have is refused in its second cell; `fdiv run 00 -p MODE laptop` refuses it before a kernel starts.
#
# **This machine.** No GPU is needed. If a line below says `FAIL`, it also says what to type.

# %% tags=["nbval-ignore-output"]
show_environment()

# %% [markdown]
# ## Claims checked
#
# What this notebook said, as assertions with a margin. If one were false, this cell would fail, and so would the tests of the project.

# %% tags=["claim", "nbval-check-output"]
last = {m: accuracy[m][-1] for m in history}
claim(
    "about half of the training labels are wrong", 0.45 < flipped.double().mean() < 0.55
)
claim(
    "cross-entropy memorises more than three quarters of the wrong labels",
    memorised["ce"][-1] > 0.75,
)
claim(
    "total variation memorises less than one fifth of them", memorised["tv"][-1] < 0.20
)
claim(
    "cross-entropy was at least 15 points better early on than at its end",
    max(accuracy["ce"]) - last["ce"] > 0.15,
)
claim(
    "total variation ends at least 15 points above cross-entropy",
    last["tv"] - last["ce"] > 0.15,
)

# %% [markdown]
# ## Summary
# - A label-noise problem: predict the true label when every label you train on passed through an unknown transition matrix $T$.
# - Cross-entropy first learns the pattern, then the wrong labels one by one; its test accuracy falls as it memorises.
# - Total variation rewards agreeing with the given label *more than* with a random one. It needs neither the noise rate nor a list of the wrong labels.
# - Stopping cross-entropy early would help too, if you knew when. Notebook 05 asks how one could know without clean labels.
#
# ## Exercises
#
# **1.** Write the realised noise rate: the share of labels that differ from the clean ones.


# %% tags=["exercise", "nbval-check-output"]
def noise_rate(clean, noisy):
    raise NotImplementedError("your turn")


nb00.noise_rate(noise_rate)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Comparing two tensors gives a tensor of booleans. Its mean needs a float: `.double()`.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def noise_rate(clean, noisy):
#     return (clean != noisy).double().mean()
# ```
#
# </details>

# %% [markdown]
# **2.** Write what the second figure shows: among the examples whose label was flipped, the share whose noisy label the model predicts.


# %% tags=["exercise", "nbval-check-output"]
def memorised_share(predicted, noisy, clean):
    raise NotImplementedError("your turn")


nb00.memorised_share(memorised_share)

# %% [markdown]
# <details><summary>Hint</summary>
#
# First select the flipped examples with a boolean mask, then average over those only.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def memorised_share(predicted, noisy, clean):
#     flipped = clean != noisy
#     return (predicted[flipped] == noisy[flipped]).double().mean()
# ```
#
# </details>

# %% [markdown]
# ## Further reading
# - J. Wei and Y. Liu, *When Optimizing f-divergence is Robust with Label Noise*, ICLR 2021: the paper this course executes.
# - C. Zhang et al., *Understanding deep learning requires rethinking generalization*, ICLR 2017: networks can fit labels that are pure noise.
# - D. Arpit et al., *A Closer Look at Memorization in Deep Networks*, ICML 2017: the pattern first, the noise later.
#
# **Next**: [01 Divergences and conjugates](01_divergences_and_conjugates.ipynb)
