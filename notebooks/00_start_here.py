# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 00 · Start here: learning from wrong labels
#
# **The question.** You train a network, and half of the labels you give it are wrong. You do not know which half. What does it learn: the truth, or the labels?
#
# Paper: §1 and §2 · Time: 13 min to read, 20 s to run (quick) · Needs: nothing
#
# **Contents**: 1 Play first · 2 Half the labels are wrong · 3 Two things to ask for · 4 Train both · 5 Look closer · 6 The course

# %% tags=["parameters", "fold"]
MODE = "quick"  # "laptop" and "paper" train three times as long here
SEED = 0

# %% [markdown]
# (Folded: settings and imports.)

# %% tags=["fold"]
try:
    from fdiv import digits
except ModuleNotFoundError as error:
    cure = "run  %pip install -e '..[notebooks]'  in a cell and restart the kernel, or start with  make lab"
    raise ModuleNotFoundError(f"this kernel has no {error.name}: {cure}") from None

import numpy as np
import torch
from torch import nn

from fdiv.course import (
    check_parameters,
    claim,
    curves_figure,
    explore,
    images_figure,
    memorisation_machine,
    nb00 as exercises,
    predict,
    seed_everything,
    shares_figure,
    with_slider,
)

check_parameters(MODE=MODE, SEED=SEED)
EPOCHS = 100 if MODE == "quick" else 300

# %% [markdown]
# ## 1 Play first
#
# Two small networks will learn from the same points. The one on the left is trained as everybody trains, with **cross-entropy**. Guess first: a wrong guess is remembered longest.

# %% tags=["predict"]
predict(
    "Four labels in ten are wrong. What will the network that is trained with cross-entropy do?",
    [
        "It ignores the wrong labels: the right ones are in the majority",
        "It learns the classes first, then more and more wrong labels",
        "It learns nothing: the labels contradict each other",
    ],
    answer=1,
    why=[
        "At first it does. But nothing in cross-entropy tells it to stop there, and a label it disagrees with costs more and more.",
        "First the pattern, then the exceptions. Watch the rings fill, and the accuracy on new points go down as they do.",
        "Six right labels in ten are plenty to see the pattern. It sees it within seconds, and then does not leave it at that.",
    ],
)

# %% [markdown]
# Press *play*. A ring marks a point whose label is wrong; it fills when a network has learned that label by heart. Both networks are large enough to learn all of them, and they differ in one thing only: what they are asked to maximise. Change the noise, the points or the losses, and play again.

# %%
memorisation_machine()

# %% [markdown]
# **What to see**: cross-entropy bends its regions around single points until it repeats the wrong labels. The network on the right, trained with something called **total variation**, keeps its regions simple and leaves most wrong labels alone. Does that only work for points in a plane? Let us try images.
#
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
# Now the noise. With probability one half, an example loses its label and gets one of the other nine instead, at random. This is what we train on. The test labels stay clean, so that the test tells the truth.

# %%
rng = np.random.default_rng(SEED)
flipped = torch.as_tensor(rng.random(len(clean)) < 0.5)
noisy = torch.where(
    flipped, (clean + torch.as_tensor(rng.integers(1, 10, len(clean)))) % 10, clean
)

# %% [markdown]
# Here are twelve training examples. Above each image stands the label that the learner gets; *was* tells you, and only you, what a flipped label was before.

# %% tags=["fold"]
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
# You can tell the wrong ones at a glance. The learner cannot: it has only pairs of an image and a label.
#
# Three letters will stay with us. $X$ is an image, $Y$ its true label, and $\tilde Y$ (read "Y tilde") the noisy label that the learner is given. **Learning with noisy labels is to predict $Y$ although you only ever saw $\tilde Y$.**
#
# How often a label $i$ becomes $j$ is a table of numbers, $T_{ij} = P(\tilde Y = j \mid Y = i)$, the *transition matrix*. Ours has 0.5 on the diagonal and $0.5/9$ everywhere else.
#
# ### Exercise 1 ★: How noisy is it really?
#
# Half was the plan; a coin has its own mind. Write the realised noise rate: the share of labels that differ from the clean ones. (Replace the `raise`, run the cell, read the verdict. A hint and a solution are folded below every exercise.)


# %% tags=["exercise", "nbval-check-output"]
def noise_rate(clean, noisy):
    raise NotImplementedError("your turn")


exercises.noise_rate(noise_rate)

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
# ## 3 Two things to ask for
#
# A classifier answers with a probability for every class. We write $h_x[y]$ for the probability that the network $h$ gives to label $y$ when it sees image $x$: softmax makes these ten numbers positive with sum 1.
#
# **Cross-entropy** asks for a high probability of the label you were given, whatever it is: it maximises the average of $\log h_x[\tilde y]$. Where the model disagrees with a label, $\log$ falls without limit, so in the end the model gives in.
#
# **Total variation**, one of the paper's eight *f-divergences*, asks for something else: *agree with the label you were given more than with a label drawn at random.* With $g(v) = \tfrac12\tanh v$, a curve that rises almost like a straight line on probabilities and can never rise far, it maximises
#
# $$\underbrace{\mathbb E\; g(h_X[\tilde Y])}_{\text{its own label}} \;-\; \underbrace{\mathbb E\; g(h_X[\tilde Y'])}_{\text{that of another image}} .$$
#
# ($\mathbb E$ is an average over the examples. Where $\tanh$ comes from is the business of [notebook 01](01_divergences_and_conjugates.ipynb).) In code both are losses, to be minimised; cross-entropy comes with PyTorch, and this is the other one:

# %%
label_prior = torch.bincount(noisy, minlength=10) / len(noisy)


def total_variation(logits, labels):
    g = torch.tanh(logits.softmax(dim=1)) / 2
    your_label = g.gather(1, labels[:, None]).mean()
    random_label = (g @ label_prior).mean()
    return random_label - your_label


# %% [markdown]
# `g @ label_prior` is the average over all labels another image might have had, each as often as it occurs: no dice needed.
#
# ## 4 Train both
#
# The same small network, the same noisy labels, the same seed, the same optimiser. After each epoch we note its predictions. (We chose a width and a number of epochs at which cross-entropy finishes memorising within seconds. A narrower network, or fewer epochs, memorises less.)


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


# %% tags=["training", "nbval-check-output"]
NAMES = {"ce": "cross-entropy", "tv": "total variation"}
LOSSES = {"ce": nn.functional.cross_entropy, "tv": total_variation}
history = {}
for method, loss in LOSSES.items():
    history[method] = train(loss)
    print(f"{NAMES[method]} has been trained")

# %% [markdown]
# Now the number we care about: the accuracy on **clean** test digits. Guessing would give 10 %.

# %% tags=["predict"]
predict(
    "Trained on labels of which half are wrong, how good is total variation on clean test digits at the end?",
    [
        "About 50 %: it cannot know better than its labels",
        "Near 70 %: better than its labels, but hurt",
        "Over 90 %: nearly as if the labels had been right",
    ],
    answer=2,
    why=[
        "A label can be wrong half of the time and still point the right way on average: each wrong class gets only one label in eighteen.",
        "Cross-entropy ends below even that. Look at both lines.",
        "The true class is still the most frequent label of every class. A learner that looks for what labels have in common can find it.",
    ],
)

# %% [markdown]
# Each line is one training, epoch by epoch:

# %% tags=["nbval-ignore-output", "fold"]
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
# Both are good at first. Then cross-entropy falls, epoch by epoch, while total variation stays where it was. **What is cross-entropy doing all that time?** Look at the training examples whose label was flipped, and count how many of those wrong labels the model repeats.

# %% tags=["nbval-ignore-output", "fold"]
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
# The two figures are one story: as the wrong labels go in, the accuracy goes out. Total variation ends with most of the flips **not** learned, though nobody told it which they were, or how many.
#
# ### Exercise 2 ★★: The share learned by heart
#
# Write what the second figure shows: among the examples whose label was flipped, the share whose noisy label the model predicts.


# %% tags=["exercise", "nbval-check-output"]
def memorised_share(predicted, noisy, clean):
    raise NotImplementedError("your turn")


exercises.memorised_share(memorised_share)

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
# ## 5 Look closer
#
# If a model does not repeat the wrong label of a flipped example, what does it say instead?

# %% tags=["predict"]
predict(
    "A digit was shown with the same wrong label a hundred times. What does the network trained with total variation mostly say about it?",
    [
        "A third digit: an image with that history confuses it",
        "The wrong label, only with less confidence than before",
        "The true digit, which it was never told for this image",
    ],
    answer=2,
    why=[
        "It could be. But the image looks like the other images of its class, and those mostly carry the right label.",
        "That is cross-entropy, in the left bar.",
        "It has learned the digit from the others, and trusts them more than this one label. A model that knows better than its labels can find the wrong ones.",
    ],
)

# %% [markdown]
# The slider of the next figure starts at the last epoch. Drag it to the left, back in time, and **watch the orange part of the left bar shrink**.


# %% tags=["interactive", "nbval-ignore-output", "fold"]
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
# The blue part is the surprise of this course: **the network knows better than what it was told.**
#
# One image at a time: six of the flipped examples, and what cross-entropy makes of them as it trains. **Find the epoch at which it gives in, for each of the six.**


# %% tags=["nbval-ignore-output", "fold"]
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
# ### Exercise 3 ★★★: Find the wrong labels
#
# A model that resists its labels can accuse them. Call a label *suspicious* where the model predicts another class. Return two numbers: the **precision**, the share of suspicious labels that are really wrong, and the **recall**, the share of wrong labels that are suspicious.


# %% tags=["exercise", "nbval-check-output"]
def precision_and_recall(predicted, noisy, clean):
    raise NotImplementedError("your turn: return precision, recall")


exercises.precision_and_recall(precision_and_recall)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# You need two masks: `suspicious = predicted != noisy` and `wrong = noisy != clean`. Which examples are in both?
#
# </details>
# <details><summary>Hint 2</summary>
#
# Both shares have the same numerator, the number of labels that are suspicious *and* wrong. They differ in what it is divided by.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def precision_and_recall(predicted, noisy, clean):
#     suspicious, wrong = predicted != noisy, noisy != clean
#     both = (suspicious & wrong).sum()
#     return both / suspicious.sum(), both / wrong.sum()
# ```
#
# </details>
#
# Try yours on the two models: `precision_and_recall(history["tv"][-1][0], noisy, clean)`.

# %% [markdown]
# ## 6 The course
#
# Each notebook asks one question, and you will be asked for a guess before it is answered.
#
# | notebook | its question |
# |---|---|
# | **00 Start here: learning from wrong labels** | what does a network learn from wrong labels? |
# | [01 Measuring a difference: divergences and conjugates](01_divergences_and_conjugates.ipynb) | what is "more than at random", and how can a network maximise it? |
# | [02 Which wrong labels hurt: models of noise](02_noise_models.ipynb) | 74 % wrong labels or 45 %: which would you rather learn from? |
# | [03 When noise cancels: the decoupling theorem](03_decoupling_theorem.ipynb) | when may you maximise on wrong labels and trust the result? |
# | [04 The algorithm, line by line: MNIST](04_mnist.ipynb) | how is it trained, batch by batch? |
# | [05 Fair comparison: Fashion-MNIST](05_fashion_mnist.ipynb) | when may you say that one method is better? |
# | [06 One curve or three: CIFAR-10](06_cifar10.ipynb) | when do the divergences differ? |
# | [07 A hundred classes: CIFAR-100](07_cifar100.ipynb) | what do a hundred classes change? |
# | [08 Noise that people make: Clothing1M](08_clothing1m.ipynb) | and if people made the noise? |
# | [09 Mending the objective: sparse-high on MNIST](09_bias_correction.ipynb) | why do so many methods stop at one half, and can it be mended? |
# | [10 Every number twice: the paper's tables](10_paper_tables.ipynb) | does it reproduce? |
# | [11 Trust, but compute: reading the paper critically](11_reading_the_paper_critically.ipynb) | how much of a good paper holds as printed? |
# | [12 Who is robust, exactly? Any matrix T](12_who_is_robust.ipynb) | is my loss robust for my $T$? |
# | [13 Then and now: CIFAR-10's features](13_then_and_now.ipynb) | who wins when newer losses are compared fairly? |
# | [14 Your own data: a table, sentences, photographs](14_your_own_data.ipynb) | which of my labels are wrong, and do I need a robust loss at all? |
#
# Three ways through it:
#
# - **In an hour or so**: 00, [02](02_noise_models.ipynb), [04](04_mnist.ipynb), [09](09_bias_correction.ipynb).
# - **The whole theory**: 00 to 03, then 09, 11 and 12.
# - **You have data of your own and wrong labels in it?** Go to [14](14_your_own_data.ipynb), or leave the course: [Your own data](../fdiv/course/guides/own_data.md) goes from a table or a folder of images to a robust model and a list of suspicious labels. Come back when you want to know why it works.
#
# To change the code and to solve exercises, open the notebooks in JupyterLab (`make lab`). [Set up](../fdiv/course/guides/set_up.md) helps where something is missing; [Full runs](../fdiv/course/guides/full_runs.md) says how to train on the real datasets.
#
# ## Claims checked
#
# What this notebook said, as assertions with a margin. If one were false, this cell would fail, and so would the tests of the project.

# %% tags=["claim", "nbval-check-output", "fold"]
last = {m: accuracy[m][-1] for m in history}
saying = {m: verdict_shares(history[m][-1][0]) for m in history}
claim(
    "about half of the training labels are wrong", 0.45 < flipped.double().mean() < 0.55
)
claim(
    "cross-entropy memorises more than three quarters of the wrong labels, total variation less than a fifth",
    memorised["ce"][-1] > 0.75 and memorised["tv"][-1] < 0.20,
)
claim(
    "cross-entropy was at least 15 points better early on than at its end",
    max(accuracy["ce"]) - last["ce"] > 0.15,
)
claim(
    "total variation ends above 90 %, cross-entropy below 70 %",
    last["tv"] > 0.90 and last["ce"] < 0.70,
)
claim(
    "of the flipped examples total variation names the true digit in more than three quarters",
    saying["tv"]["the true digit"] > 0.75,
)

# %% [markdown]
# ## Summary
# - A label-noise problem: predict the true label $Y$ when every label you train on passed through an unknown transition matrix $T$.
# - Cross-entropy first learns the pattern, then the wrong labels one by one; its test accuracy falls as it memorises.
# - Total variation rewards agreeing with the given label *more than* with a random one. It needs neither the noise rate nor a list of the wrong labels.
#
# ## Further reading
# - J. Wei and Y. Liu, *When Optimizing f-divergence is Robust with Label Noise*, ICLR 2021: the paper this course executes.
# - C. Zhang et al., *Understanding deep learning requires rethinking generalization*, ICLR 2017: networks can fit labels that are pure noise.
# - D. Arpit et al., *A Closer Look at Memorization in Deep Networks*, ICML 2017: the pattern first, the noise later.
#
# ## To be continued
#
# One formula made the difference, and it fell from the sky: a $\tanh$, and one average minus another. What is it that total variation measures, and why should a network that makes it large become right? [Notebook 01](01_divergences_and_conjugates.ipynb) builds it from two coins.
