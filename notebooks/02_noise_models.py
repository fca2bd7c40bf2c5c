# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 02 · Which wrong labels hurt: models of noise
#
# **So far.** [00](00_start_here.ipynb): a network can learn the truth from labels of which half are wrong. [01](01_divergences_and_conjugates.ipynb): a divergence measures how much a prediction has to do with a label, and it can be maximised from samples. Nobody has said yet what kind of wrong labels we mean.
#
# **The question.** In one dataset three labels in four are wrong, in another fewer than half. Which of the two would you rather learn from?
#
# Paper: §3 (uniform and sparse noise), §5 "Noise model", and the matrices of the appendix · Time: 15 min to read, 15 s to run (quick) · Needs: [00](00_start_here.ipynb)
#
# **Contents**: 1 Make your own noise · 2 The transition matrix · 3 Three families · 4 Planned and realised · 5 How many, or which? · 6 A mystery · 7 Noise that looks at the image

# %% tags=["parameters", "fold"]
MODE = "quick"  # nothing is trained here: all modes run the same
SEED = 0

# %% [markdown]
# (Folded: settings and imports.)

# %% tags=["fold"]
try:
    from fdiv import digits, method_title, noise, paper_accuracies
except ModuleNotFoundError as error:
    cure = "run  %pip install -e '..[notebooks]'  in a cell and restart the kernel, or start with  make lab"
    raise ModuleNotFoundError(f"this kernel has no {error.name}: {cure}") from None

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fdiv.course import (
    check_parameters,
    claim,
    explore,
    images_figure,
    matrix_figure,
    nb02 as exercises,
    noise_figure,
    predict,
    t_editor,
    with_slider,
)

check_parameters(MODE=MODE, SEED=SEED)

# %% [markdown]
# ## 1 Make your own noise
#
# Below is a small world with three classes. Each bar is a true class, and its colours are the labels that its examples are given. Suppose you have infinitely many examples, each clear beyond doubt, and a model that fits their labels as well as can be.

# %% tags=["predict"]
predict(
    "You will drag the chance that a 0 is labelled 1 from nothing up to certainty. What will the best-fitting model answer for a 0?",
    [
        "It gets worse little by little, as the labels do",
        "It stays right up to one half, and is wrong beyond, all at once",
        "It stays right: with infinitely many examples one can see through the noise",
    ],
    answer=1,
    why=[
        "Its *confidence* does. Its answer is the class with the largest probability, and that changes only once.",
        "It answers the most frequent label of each image. Beyond one half that is the wrong one, and more data only make it surer.",
        "Perhaps one can, but not by fitting the labels: to a model that does, the most frequent label is the truth.",
    ],
)

# %% [markdown]
# Drag a border within the top bar, or select an entry and use the slider. Each point of the triangle is an answer that the model could give to an example of class 0; the brighter, the better it fits the labels, and the dot is the best. The bars at the end are the accuracy that each way of learning can reach with infinite data; you will meet all of these names.

# %%
t_editor(mend=False)

# %% [markdown]
# **What to see**: nothing happens for a long time, and then a whole class is lost at once.
#
# ## 2 The transition matrix
#
# What you dragged is one table: **$T_{ij} = P(\tilde Y = j \mid Y = i)$, the chance that an example of class $i$ gets the label $j$.** A row is a true class and sums to 1. The diagonal holds the labels that survive.
#
# An annotator who confuses cats and dogs, and never gets a bird wrong:

# %%
animals = ["cat", "dog", "bird"]
T = noise.transition([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]])
matrix_figure(T, names=animals, title="A transition matrix")

# %% [markdown]
# To corrupt labels, go through the examples and draw each noisy label from the row of its true class. (The package does the same without a loop.)


# %%
def corrupt_by_hand(labels, T, rng):
    return np.array([rng.choice(len(T), p=T[y]) for y in labels])


clean = np.repeat([0, 1, 2], 2000)
by_hand = corrupt_by_hand(clean, T, np.random.default_rng(SEED))
by_package = noise.corrupt(clean, T, seed=SEED)

# %% [markdown]
# Both are random, so they agree in their frequencies and not label by label:

# %% tags=["fold"]
before = pd.Series(clean).value_counts(normalize=True, sort=False)
after = {"by hand": by_hand, "by the package": by_package}
shares = {
    name: pd.Series(y).value_counts(normalize=True).sort_index()
    for name, y in after.items()
}
frequencies = pd.DataFrame({"before": before, **shares, "T'p": T.T @ before})
frequencies.set_axis(animals).map("{:.3f}".format)

# %% [markdown]
# Noise changes how often each label occurs: cats have become rarer, because more cats are called dogs than dogs are called cats. In formulas, if $p$ holds the frequencies of the true classes, the noisy labels have the frequencies $\tilde p = T^\top p$.
#
# ### Exercise 1 ★: Read T off the labels
#
# Somebody gives you clean and noisy labels. Reconstruct $T$: the share of the labels of class $i$ that became $j$.


# %% tags=["exercise", "nbval-check-output"]
def estimate_T(clean, noisy, num_classes):
    raise NotImplementedError("your turn")


exercises.estimate_T(estimate_T)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `np.add.at(counts, (clean, noisy), 1)` counts pairs of labels. Then divide each row by its own sum.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def estimate_T(clean, noisy, num_classes):
#     counts = np.zeros((num_classes, num_classes))
#     np.add.at(counts, (clean, noisy), 1)
#     return counts / counts.sum(axis=1, keepdims=True)
# ```
#
# </details>

# %% [markdown]
# ## 3 Three families
#
# The paper studies three families of $T$ for $K$ classes (§3 and §5).
#
# - **Uniform**: every *other* class has the same chance $e_j$ of being labelled $j$. So $T = (1-\sum_j e_j)\,I + \mathbf 1 e^\top$, where $I$ is the identity matrix, $\mathbf 1$ a column of ones and $e^\top$ the row of the $e_j$: with probability $1-\sum_j e_j$ the label is kept, otherwise it is drawn from a fixed distribution, *whatever the true class*.
# - **Sparse**: the classes form pairs, and labels only flip inside a pair, with $e_1$ one way and $e_2$ back.
# - **Random $p$**: with probability $p$ the label is drawn anew from *all* $K$ classes.
#
# The digits are real, each with the label it got. **Watch which wrong labels can occur at all.**

# %% tags=["fold"]
data = digits()
labels = data.train_labels.numpy()
twelve = np.arange(12)


def family_matrix(family, rate):
    if family == "sparse":
        return noise.sparse(10, None, e1=rate, e2=rate / 4)
    if family == "uniform":
        return noise.uniform(rate * np.linspace(0.4, 1.6, 10) / 10)
    return noise.random_flip(rate, 10)


def family_figure(family="uniform", rate=0.5):
    T = family_matrix(family, rate)
    labels = noise.corrupt(data.train_labels, T, SEED)[twelve]
    pairs = zip(labels, data.train_labels[twelve], strict=True)
    captions = [f"{n}" if n == t else f"<b>{n}</b>, was {t}" for n, t in pairs]
    title = f"{family}, rate {rate:g}: {1 - np.diag(T).mean():.0%} wrong labels"
    return noise_figure(T, data.train_images[twelve, 0], captions, title=title)


# %% [markdown]
# Choose the family and the rate:

# %% tags=["interactive"]
families = ["uniform", "sparse", "random"]
explore(family_figure, family=families, rate=(0.0, 0.75, 0.05))

# %% [markdown]
# Under uniform and random noise a 0 can become anything. Under sparse noise it can only become a 1, and a 2 only a 3: all the wrong labels of a class land in *one* place.
#
# ### Exercise 2 ★: Pair flips
#
# Build the sparse matrix in which the classes $(0,1), (2,3), \dots$ exchange labels with the same probability `e` both ways. Use NumPy only.


# %% tags=["exercise", "nbval-check-output"]
def pair_flips(num_classes, e):
    raise NotImplementedError("your turn")


exercises.pair_flips(pair_flips)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# Start from `(1 - e) * np.eye(num_classes)`. Each row then needs one more entry.
#
# </details>
# <details><summary>Hint 2</summary>
#
# The partner of class $i$ is $i+1$ when $i$ is even and $i-1$ when it is odd, which is `i ^ 1`.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def pair_flips(num_classes, e):
#     T = (1 - e) * np.eye(num_classes)
#     for i in range(num_classes):
#         T[i, i ^ 1] = e
#     return T
# ```
#
# </details>

# %% [markdown]
# ## 4 Planned and realised
#
# "Twenty percent noise" is said quickly. Take random noise with $p = 0.2$ and ten classes.

# %% tags=["predict"]
predict(
    "Random noise with p = 0.2 on ten classes: what share of the labels is wrong?",
    ["20 %", "18 %", "22 %"],
    answer=1,
    why=[
        "20 % of the labels are drawn anew. Some of the draws hit the old label.",
        "One draw in ten hits the true class by chance, so 0.2 · 9/10 of the labels become wrong.",
        "A redrawn label cannot be more than wrong.",
    ],
)

# %% [markdown]
# For three values of $p$:

# %%
for p in (0.2, 0.5, 0.7):
    T = noise.random_flip(p, 10)
    print(f"random {p}: {1 - np.diag(T).mean():.2f} of the labels are wrong")

# %% [markdown]
# In general it is $p\,(K-1)/K$. And **a draw is not its expectation.** With $n$ labels the realised rate $\hat r$ scatters around the planned one, $r$, with a standard deviation of $\sqrt{r(1-r)/n}$. Each dot is a draw; 95 % of them should lie between the dashed lines, two standard deviations away.

# %% tags=["fold"]
T = noise.symmetric(0.4, 10)
sizes = [50, 100, 200, 500, 1000, 2000, 5000, 10000]


def realised_rate(n, seed):
    labels = np.arange(n) % 10
    return (noise.corrupt(labels, T, seed) != labels).mean()


rates = {n: [realised_rate(n, seed) for seed in range(40)] for n in sizes}
two_sd = np.array([2 * np.sqrt(0.4 * 0.6 / n) for n in sizes])
figure = go.Figure()
for sign, shown in ((1, True), (-1, False)):
    dashed = {"color": "#555555", "dash": "dash"}
    figure.add_scatter(x=sizes, y=0.4 + sign * two_sd, line=dashed, showlegend=shown)
figure.data[0].name = "two standard deviations"
dots = [(n, rate) for n in sizes for rate in rates[n]]
x, y = zip(*dots, strict=True)
figure.add_scatter(x=x, y=y, mode="markers", name="one draw")
figure.data[-1].marker = {"color": "#8C959E", "size": 5}
title = "Realised noise rates, planned 0.4"
figure.update_layout(title=title, yaxis_title="share of wrong labels")
figure.update_xaxes(type="log", dtick=1, title="number of labels")

# %% [markdown]
# With the 1297 digits of notebook 00 the realised rate is easily off by two points; with 50 000 images by less than half a point.
#
# So **report the realised rate, and publish the labels**: a printed matrix can differ from what was really done.
#
# ## 5 How many, or which?
#
# Back to the question. These are two of the paper's settings for MNIST: *uniform-high* and *sparse-high*.

# %%
uniform_high = noise.paper_noise("mnist", "uniform-high")
sparse_high = noise.paper_noise("mnist", "sparse-high")
for name, T in {"uniform-high": uniform_high, "sparse-high": sparse_high}.items():
    print(f"{name}: {1 - np.diag(T).mean():.0%} of the labels are wrong")

# %% tags=["predict"]
predict(
    "Infinitely many clear images, and a model that answers with the most frequent label of each. Under which noise is it right more often?",
    [
        "uniform-high, although three labels in four are wrong",
        "sparse-high, since fewer of its labels are wrong",
        "The same under both: with infinite data noise averages out",
    ],
    answer=0,
    why=[
        "Under uniform noise the wrong labels spread over nine classes, and the right one still leads. Under sparse noise five classes lose 70 % of theirs to a single other class, which then leads.",
        "It is the other way round: the number of wrong labels is not what counts.",
        "Averaging finds the most frequent label. Whether that is the right one depends on T.",
    ],
)

# %% [markdown]
# Its accuracy depends on one thing only: **in which rows of $T$ the diagonal is the largest entry.** We call the result the *ceiling* of plain fitting.


# %%
def ceiling(T):
    """Accuracy of answering with the most frequent noisy label, for balanced classes."""
    return np.mean(T.argmax(axis=1) == np.arange(len(T)))


rows = []
for dataset in ("mnist", "cifar-10", "cifar-100"):
    for setting in noise.paper_settings(dataset):
        if not setting.startswith("figure"):
            T = noise.paper_noise(dataset, setting)
            rows.append([dataset, setting, 1 - np.diag(T).mean(), ceiling(T)])
table = pd.DataFrame(rows, columns=["dataset", "setting", "wrong labels", "ceiling"])
table.set_index(["dataset", "setting"]).map(lambda x: f"{x:.2f}")

# %% [markdown]
# Read the two columns together. **What counts is not how many labels are wrong, but whether the wrong ones agree with each other.** Fewer than half of the labels are wrong under sparse-high, and half of the classes are lost. (The menu of section 1 has both settings: look at them there, too.)
#
# Move $e_1$, the chance that the first class of a pair becomes the second, along the axis, and $e_2$, the way back, with the slider:

# %% tags=["fold"]
e1 = np.linspace(0, 0.99, 100)


def tipping_figure(e2=0.2):
    matrices = [noise.sparse(10, None, e, e2) for e in e1[e1 <= 0.995 - e2]]
    wrong = [1 - np.diag(T).mean() for T in matrices]
    tops = [ceiling(T) for T in matrices]
    figure = go.Figure()
    figure.add_scatter(x=e1, y=tops, name="ceiling", line_color="#0072B2")
    dotted = {"color": "#D55E00", "dash": "dot"}
    figure.add_scatter(x=e1, y=wrong, name="wrong labels", line=dotted)
    title = f"Sparse noise with e2 = {e2:g}"
    figure.update_layout(title=title, xaxis_title="e1", yaxis_title="share")
    return figure.update_yaxes(range=(0, 1.05)).update_xaxes(range=(0, 1))


with_slider(tipping_figure, e2=[0.0, 0.1, 0.2, 0.3, 0.4])

# %% [markdown]
# This is the cliff of section 1: the ceiling falls at $e_1 = \tfrac12$, while the share of wrong labels grows smoothly through it.
#
# ### Exercise 3 ★★: How much can the right label bear?
#
# Symmetric noise: a label is wrong with probability `rate`, and then any other class alike. Up to which rate does the right label still lead? Write it for $K$ classes.


# %% tags=["exercise", "nbval-check-output"]
def largest_symmetric_rate(num_classes):
    raise NotImplementedError("your turn")


exercises.largest_symmetric_rate(largest_symmetric_rate)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The diagonal is $1 - r$ and every other entry $r/(K-1)$. When are they equal?
#
# </details>
# <details><summary>Solution</summary>
#
# $1 - r = r/(K-1)$ gives $r = (K-1)/K$: for ten classes, 90 % of the labels may be wrong, as long as the errors are spread evenly.
#
# ```python
# def largest_symmetric_rate(num_classes):
#     return (num_classes - 1) / num_classes
# ```
#
# </details>

# %% [markdown]
# ## 6 A mystery
#
# That settles plain fitting: cross-entropy on sparse-high must stop at one half. But the paper's other methods do not simply fit. Some undo an estimated $T$ (backward and forward correction), one maximises a determinant (DMI), and the divergences are asked for something else altogether: agree *more than at random*.

# %% tags=["predict"]
predict(
    "Of the ten methods that the paper tries on MNIST with sparse-high noise, how many get beyond two thirds right?",
    [
        "All but cross-entropy, which only fits",
        "Only the two that use an estimate of $T$",
        "None of the ten, whatever they ask for",
    ],
    answer=2,
    why=[
        "Under uniform-high, with far more wrong labels, nine of the ten do better than 87 %. Not here.",
        "Knowing T should help, one would think. Their estimates did not.",
        "The best of the ten stops at 60 %, and half of them within a point and a half of one half.",
    ],
)

# %% [markdown]
# The best run of each method, as the paper reports it:

# %% tags=["fold"]
reported = paper_accuracies().query("dataset == 'mnist'")
reported = reported[reported["table"].isin(["main", "main-full"])]
reported = reported.drop_duplicates(["noise", "method"])
methods = list(reported["method"].unique())
bars = reported.pivot(index="method", columns="noise", values="max").loc[methods]
figure = go.Figure()
for setting, colour in {"uniform-high": "#56B4E9", "sparse-high": "#D55E00"}.items():
    figure.add_bar(x=[method_title(m) for m in methods], y=bars[setting], name=setting)
    figure.data[-1].update(marker_color=colour)
figure.add_hline(y=50, line_dash="dot", line_color="#555555")
title = "MNIST: 74 % wrong labels (uniform-high) against 45 % (sparse-high)"
figure.update_layout(title=title, yaxis_title="accuracy, %", xaxis_tickangle=-60)
figure.update_yaxes(range=(0, 100)).update_xaxes(automargin=True)

# %% [markdown]
# **Ten methods, ten ideas, and not one gets much more than ten points above the dotted line.** Why? Two suspects come to mind.
#
# - *The information is gone.* Then nobody can do better, and we should stop trying.
# - *The information is there, and all ten leave it lying.* Then something is wrong with what they ask for.
#
# Keep the question open. We shall need the theory of the next notebook, some trainings, and patience until notebook 09.
#
# ## 7 Noise that looks at the image
#
# A transition matrix treats all images of a class alike. People do not: a sloppy 4 is called a 9 more often than a neat one. To play with that we let a *weak annotator* label the digits, a linear model that has seen ten examples of each class. It errs where it is unsure, on a fifth of the images.

# %% tags=["fold"]
chance, mistake = noise.weak_annotator(data.train_images, labels, 0.2, SEED)
chance_by_class = [chance[labels == k].mean() for k in range(10)]
figure = go.Figure()
for k in range(10):
    figure.add_box(y=chance[labels == k], name=str(k), marker_color="#0072B2")
figure.add_scatter(x=[str(k) for k in range(10)], y=chance_by_class, mode="markers")
mark = {"symbol": "line-ew-open", "size": 20, "color": "#D55E00", "line_width": 3}
figure.update_traces(marker=mark, selector=10)
title = "The chance of a wrong label, image by image (blue) and class by class (orange)"
axes = {"xaxis_title": "class", "yaxis_title": "chance of a wrong label"}
figure.update_layout(title=title, showlegend=False, **axes)
figure.update_xaxes(dtick=1, range=(-0.6, 9.6))

# %% [markdown]
# The orange marks are all that a transition matrix knows. Inside every class the chance runs from less than 8 % to more than 40 %. Here are the images the annotator is least and most likely to get wrong:

# %% tags=["fold"]
order = chance.argsort()
shown = np.concatenate([order[:6], order[::-1][:6]])
captions = [f"{labels[i]}: {chance[i]:.0%} as {mistake[i]}" for i in shown]
pictures = data.train_images[shown.tolist(), 0]
images_figure(pictures, captions, title="Surest six above, least sure six below")

# %% [markdown]
# The paper's theory is about class-conditional noise: given the true class, the label does not depend on the image. Real annotators break that assumption, and notebook 08 meets them.
#
# To end with, the **noise card**, which sums up what you have learned about a set of labels: its rates, the classes in which the right label leads, the ceiling, and a fingerprint that tells whether somebody else's labels are the same. (Its *condition number* says how hard it is to undo $T$ by computing its inverse: 1 is easy, and hundreds are not. Notebook 09 needs it.)

# %%
noisy = noise.corrupt(labels, sparse_high, seed=SEED)
noise.noise_card(labels, noisy, sparse_high, SEED, "digits, sparse-high")

# %% [markdown]
# ### Exercise 4 ★★★: The worst noise for its rate
#
# Be the adversary. Return a transition matrix for `num_classes` balanced classes under which plain fitting is *never* right, a ceiling of 0, with as few wrong labels as you can: at most 51 %.


# %% tags=["exercise", "nbval-check-output"]
def worst_noise(num_classes):
    raise NotImplementedError("your turn")


exercises.worst_noise(worst_noise)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# In each row some wrong label must have more than the diagonal. How few wrong labels does that take, if they may all go to the same place?
#
# </details>
# <details><summary>Hint 2</summary>
#
# Send 51 % of every class to one other class. Pairs do not work for an odd number of classes; a circle does: `np.roll(np.eye(num_classes), 1, axis=1)` sends class $i$ to $i+1$.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def worst_noise(num_classes):
#     circle = np.roll(np.eye(num_classes), 1, axis=1)
#     return 0.49 * np.eye(num_classes) + 0.51 * circle
# ```
#
# </details>

# %% [markdown]
# ## Claims checked
#
# Rates and ceilings, exactly; draws and images with a margin.

# %% tags=["claim", "nbval-check-output", "fold"]
claim(
    "random 0.2 makes 18 % of the labels wrong",
    np.isclose(1 - np.diag(noise.random_flip(0.2, 10)).mean(), 0.18),
)
e = np.linspace(0.01, 0.1, 10)
uniform = (1 - e.sum()) * np.eye(10) + np.ones((10, 1)) * e
claim(
    "uniform noise keeps a label or draws from one fixed row",
    np.allclose(noise.uniform(e), uniform),
)
inside = [
    abs(r - 0.4) <= s for n, s in zip(sizes, two_sd, strict=True) for r in rates[n]
]
claim(
    "between 92 and 98 % of the draws lie within two standard deviations",
    0.92 <= np.mean(inside) <= 0.98,
)
claim(
    "74 % of the labels are wrong under uniform-high, and the right one leads in every class",
    round(1 - np.diag(uniform_high).mean(), 2) == 0.74 and ceiling(uniform_high) == 1,
)
claim(
    "45 % are wrong under sparse-high, and the right one leads in half of the classes",
    np.isclose(1 - np.diag(sparse_high).mean(), 0.45) and ceiling(sparse_high) == 0.5,
)
claim(
    "with e2 at most 0.4, the ceiling of sparse noise falls from 1 to one half at e1 = 1/2",
    all(
        ceiling(noise.sparse(10, None, 0.499, e2)) == 1
        and ceiling(noise.sparse(10, None, 0.501, e2)) == 0.5
        for e2 in (0.0, 0.1, 0.2, 0.3, 0.4)
    ),
)

# %% [markdown]
# And the mystery, as the paper reports it:

# %% tags=["claim", "nbval-check-output", "fold"]
stuck = bars["sparse-high"]
claim(
    "none of the ten methods passes two thirds on sparse-high, none is below 85 % on uniform-high",
    len(stuck) == 10 and stuck.max() < 66.7 and bars["uniform-high"].min() > 85,
)
claim(
    "at sparse-high five of the ten stop within a point and a half of one half",
    (abs(stuck - 50) < 1.5).sum() == 5,
)
within = [chance[labels == k] for k in range(10)]
claim(
    "in every class the annotator's chance to err runs from under 8 to over 40 %",
    all(c.min() < 0.08 and c.max() > 0.40 for c in within),
)
claim(
    "its errors vary more within every class than between classes",
    min(c.std() for c in within) > np.std(chance_by_class),
)

# %% [markdown]
# ## Summary
# - $T_{ij}$ is the chance that class $i$ gets label $j$; rows sum to 1, and label frequencies move as $\tilde p = T^\top p$.
# - Uniform noise keeps the label or draws from one fixed distribution; sparse noise flips inside pairs; "random $p$" is wrong with probability $p(K-1)/K$.
# - Realised rates scatter; publish the labels, or at least a noise card.
# - A method that fits the noisy labels is limited by the rows of $T$ in which a wrong label leads. That, not the rate, is what makes sparse-high hard for it.
# - Open: why do methods that do *not* simply fit stop there, too?
#
# ## Further reading
# - N. Natarajan et al., *Learning with Noisy Labels*, NeurIPS 2013: class-conditional noise and its correction.
# - G. Patrini et al., *Making Deep Neural Networks Robust to Label Noise*, CVPR 2017: estimating and using $T$.
# - J. Wei et al., *Learning with Noisy Labels Revisited: A Study Using Real-World Human Annotations*, ICLR 2022: how human noise differs (CIFAR-N).
#
# ## To be continued
#
# You have a measure (01) and a noise (02). Put one into the other: what does $T$ do to a divergence? There is a theorem for it, of three lines, and it will tell which of the eight may be trusted with wrong labels. [Notebook 03](03_decoupling_theorem.ipynb) proves it, and brings the mystery to a head.
