# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04 · MNIST: Algorithm 1, line by line
#
# **Why.** The paper's method is one step of gradient ascent, printed as Algorithm 1, and it samples three mini-batches for every step. You will write it, find that one of its two forward passes is not needed, and train it against cross-entropy.
#
# Paper: §5, Algorithm 1, and appendix C.5 · Time: 25 min to read, 40 s to run (quick) · Needs: [01](01_divergences_and_conjugates.ipynb), [02](02_noise_models.ipynb)
#
# **You will be able to**
# - write Algorithm 1 for any of the eight divergences
# - replace its second forward pass by a sum over the classes, and say what that buys
# - see what a network memorises, and what it does not
# - rank your training labels by how likely they are wrong
# - use the loss in a loop of your own
#
# **Contents**: 1 The data · 2 Algorithm 1 · 3 The product term needs no second pass · 4 Train · 5 What was memorised · 6 The six settings of the paper · 7 Which labels are wrong? · 8 Your own loop · Claims checked · Exercises

# %% tags=["parameters"]
MODE = "quick"  # the digits; "laptop" and "paper" train on MNIST itself
NOISE = "uniform-high"
METHOD = "tv"
SEED = 0
CORRECTION = "none"  # of a divergence: "paper" or "exact", see notebook 09
TRANSITION = "estimated"  # or "true", where a method needs T

# %% [markdown]
# `METHOD` is any of the eight divergences or the five baselines, `NOISE` any setting of notebook 02.

# %% tags=["grid", "fold"]
import pandas as pd
import plotly.graph_objects as go
import torch
from torch.testing import assert_close

from fdiv.course import (
    LiveFigure,
    check_parameters,
    claim,
    curves_figure,
    images_figure,
    kept_folder,
    line_style,
    log_epoch,
    seed_everything,
    shares_figure,
)
from fdiv.course.exercises import nb04 as exercises
from fdiv.datasets import check_noise, noise_settings, noisy_data
from fdiv.experiments import (
    Experiment,
    our_accuracies,
    paper_accuracies,
    recipe,
    run_experiment,
)
from fdiv.learning import (
    FDivLoss,
    build_model,
    label_shares,
    method_title,
    normalise,
    predict,
    rank_label_errors,
)
from fdiv.theory import DIVERGENCES, divergence

DATASET = "digits" if MODE == "quick" else "mnist"
check_parameters(
    MODE=MODE,
    NOISE=NOISE,
    METHOD=METHOD,
    SEED=SEED,
    CORRECTION=CORRECTION,
    TRANSITION=TRANSITION,
)
NOISE = check_noise(DATASET, NOISE)

# %% [markdown]
# ## 1 The data
#
# `noisy_data` loads the images, corrupts the labels as in the paper, and splits as its authors did: the last part of the training set is a **validation set whose labels are just as noisy**. Only the test labels are clean, and nothing is ever chosen with them.

# %%
data = noisy_data(DATASET, NOISE)
split = data.split
flipped = split.train_labels != split.train_clean_labels
print(f"{len(split.train_labels)} noisy labels to train on ({data.note})")
print(
    f"{len(split.validation_labels)} noisy ones to select by, {len(split.test_labels)} clean ones to test on"
)
print(f"wrong training labels: {flipped.float().mean():.0%}")

# %% [markdown]
# Most labels are wrong. Twelve of the training examples, each with the label the learner is given:

# %%
captions = [
    f"{n}" if n == c else f"{n}  (was {c})"
    for n, c in zip(split.train_labels[:12], split.train_clean_labels[:12], strict=True)
]
images_figure(
    split.train_images[:12, 0].tolist(), captions, title="Training examples as given"
)

# %% [markdown]
# ## 2 Algorithm 1
#
# The paper maximises the variational form of $D_f$ between the joint distribution $\tilde P$ of image and noisy label and the product $\tilde Q$ of its margins, with the activation $g_f$ of notebook 01 as variational function:
#
# $$\mathbb E_{\tilde P}\, g_f(h_X[\tilde Y]) \;-\; \mathbb E_{\tilde Q}\, f^*\big(g_f(h_X[\tilde Y])\big).$$
#
# $\tilde Q$ asks for an image and a label that have nothing to do with each other. So Algorithm 1 draws **three mini-batches**: the first for $\tilde P$; the *images* of the second with the *labels* of the third for $\tilde Q$. Here it is, line by line.

# %%
B = 64


def algorithm_1(model, images, labels, d):
    n, n_dagger, n_diamond = (torch.randint(len(labels), (B,)) for _ in range(3))
    v = model(images[n]).softmax(dim=1)[range(B), labels[n]]
    v_peer = model(images[n_dagger]).softmax(dim=1)[range(B), labels[n_diamond]]
    joint = d.activation(v).mean()
    product = d.conjugate_of_activation(v_peer).mean()
    return joint - product


# %% [markdown]
# $v = h_x[\tilde y]$ is the *probability* the model gives to the label, between 0 and 1, as in the authors' program. One step of gradient ascent on this number is one step of Algorithm 1.
#
# The package has it as a loss, to be minimised, that takes logits: `FDivLoss(..., product="sampled")`. The same draws give the same number:

# %%
settings = recipe(DATASET, METHOD, MODE)
seed_everything(SEED)
model = build_model(settings.model, split.train_images, 10).eval()
images, labels = normalise(split.train_images, settings), split.train_labels
d = divergence(METHOD if METHOD in DIVERGENCES else "tv")

seed_everything(1)
by_hand = algorithm_1(model, images, labels, d)
seed_everything(1)
n, n_dagger, n_diamond = (torch.randint(len(labels), (B,)) for _ in range(3))
loss = FDivLoss(d, num_classes=10, product="sampled")
by_package = loss(
    model(images[n]),
    labels[n],
    peer_logits=model(images[n_dagger]),
    peer_labels=labels[n_diamond],
)
assert_close(-by_hand, by_package)

# %% [markdown]
# ## 3 The product term needs no second pass
#
# Look at the second term again. The label of $\tilde Q$ is *independent* of the image, so its expectation over the label can be taken first, and it is a finite sum:
#
# $$\mathbb E_{\tilde Q}\, f^*(g_f(h_X[\tilde Y])) \;=\; \mathbb E_X \sum_{y=1}^{K} \tilde p(y)\, f^*\big(g_f(h_X[y])\big).$$
#
# The model has already computed $h_x[y]$ for *every* $y$ of its first batch. So no second image batch, no third label batch, and **no second forward pass**. Only $\tilde p$, the frequencies of the noisy labels, is needed, and those are counted once.
#
# In code, the whole difference is the line with `prior`:

# %%
prior = label_shares(split)
DRAWS = 3000 if MODE == "quick" else 500


def exact_product(model, images, labels, d):
    n = torch.randint(len(labels), (B,))
    h = model(images[n]).softmax(dim=1)
    joint = d.activation(h[range(B), labels[n]]).mean()
    product = (d.conjugate_of_activation(h) * prior).sum(dim=1).mean()
    return joint - product


# %% [markdown]
# **Equal in expectation?** Both are random, so compare means over many draws, each with its standard error. To have predictions worth comparing, the model first gets a few quick steps.

# %% tags=["training"]
seed_everything(SEED)
optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(60):
    optimiser.zero_grad()
    (-exact_product(model, images, labels, d)).backward()
    optimiser.step()

with torch.no_grad():
    draws = pd.DataFrame(
        {
            "sampled": [algorithm_1(model, images, labels, d) for _ in range(DRAWS)],
            "exact": [exact_product(model, images, labels, d) for _ in range(DRAWS)],
        }
    ).astype(float)

# %% [markdown]
# The difference of the two means, in units of its own standard error, and the variance of each:

# %% tags=["nbval-ignore-output"]
error = (draws.var() / len(draws)).sum() ** 0.5
z_score = (draws["sampled"].mean() - draws["exact"].mean()) / error
variance = draws.var()
print(
    f"means {draws['sampled'].mean():.4f} and {draws['exact'].mean():.4f}, z = {z_score:+.2f}"
)
print(
    f"the sampled estimate has {variance['sampled'] / variance['exact']:.1f} times the variance"
)

# %% [markdown]
# Where does the variance go? Some of it was the luck of the peer labels. The rest goes because both terms now use the *same* images: where a batch happens to be easy, both terms are large, and the difference is not.

# %% tags=["nbval-ignore-output"]
figure = go.Figure()
for name, colour in (("sampled", "#D55E00"), ("exact", "#0072B2")):
    figure.add_histogram(
        x=draws[name].round(4), name=name, opacity=0.6, marker_color=colour, nbinsx=60
    )
figure.update_layout(
    barmode="overlay",
    title="The objective of one model, estimated again from each step's batches",
    xaxis_title="estimate of the objective",
    yaxis_title="steps",
)
figure

# %% [markdown]
# **What to see**: the same centre, and a narrower peak for *exact*. A step also costs one forward pass instead of two; `make bench` measures how much time that saves on your machine. The formula is exact for any batch size, also for a batch of one.
#
# ## 4 Train
#
# `run_experiment` trains one method on one noise setting. In modes *laptop* and *paper* each epoch is saved, so a run that is interrupted goes on where it stopped. (The cells of this section that are tagged `grid` are what `fdiv grid` executes for every run of a table, without the lesson around them.)

# %% tags=["grid"]
trained = [METHOD]


def train_method(method, noise, on_epoch=None):
    what = Experiment(
        dataset="mnist",
        noise=noise,
        method=method,
        mode=MODE,
        seed=SEED,
        correction=CORRECTION if method == METHOD else "none",
        transition=TRANSITION,
    )
    return run_experiment(what, kept_folder(what), on_epoch)[0]


# %% [markdown]
# Cross-entropy runs beside it, same network, same labels, same seed.

# %%
trained = list(dict.fromkeys(["ce", METHOD]))

# %% [markdown]
# In JupyterLab the curve grows as it trains.

# %% tags=["grid"]
names = {method: method_title(method) for method in trained}
curves = {method: [] for method in trained}
runs = {}


def draw_curves():
    return curves_figure(
        {method: curve for method, curve in curves.items() if curve},
        list(range(1, 1 + max(map(len, curves.values())))),
        names=names,
        title=f"Accuracy on clean test data, {NOISE} noise",
        x_title="epoch",
        y_title="accuracy",
    )


# %% [markdown]
# Now both are trained. A run that goes on from a checkpoint has only its later epochs to show meanwhile; its history has them all.

# %% tags=["training", "grid", "nbval-ignore-output"]
with LiveFigure(draw_curves) as figure:
    for method in trained:

        def on_epoch(row, curve=curves[method]):
            curve.append(row["test_accuracy"])
            figure.update()
            log_epoch(row)

        runs[method] = train_method(method, NOISE, on_epoch)
        curves[method] = list(runs[method].history["test_accuracy"])

# %% [markdown]
# **What to see**: cross-entropy rises first and then falls: it learns the class first and the individual wrong labels later. The f-divergence does not come back down as far. (On MNIST itself, with this small CNN and its dropout, a dozen epochs are too few to memorise much; the divergence still ends ahead.)
#
# Which epoch should you use? You have no clean labels, so three honest rules are reported: the last epoch, the best accuracy on *noisy* validation labels, and the best value of the objective on noisy validation data, which is the paper's rule. The **oracle** looks at the test labels. It is there to measure the others, not to be quoted.

# %% tags=["grid", "nbval-ignore-output"]
pd.concat({names[method]: run.summary() for method, run in runs.items()}).round(3)

# %% [markdown]
# Notebook 05 is about this table. Here, look at the column `regret`: what each rule loses against the oracle.
#
# ## 5 What was memorised
#
# Take the training examples whose label was flipped. For each, the model can repeat the wrong label (*memorised*), say the true one (*corrected*), or something else.

# %% tags=["nbval-ignore-output"]
last = {names[method]: run.history.iloc[-1] for method, run in runs.items()}
shares_figure(
    {
        name: {
            "true label": row["corrected"],
            "wrong label, memorised": row["memorised"],
            "something else": 1 - row["corrected"] - row["memorised"],
        }
        for name, row in last.items()
    },
    title="What the models say about training examples with a wrong label",
)

# %% [markdown]
# The same in pictures: twelve flipped examples, the label they were given, and the verdict of both models after the last epoch. **Bold** is a wrong label learned by heart.

# %% tags=["nbval-ignore-output"]
verdict = {
    method: predict(
        run.use("last").cpu(), split.train_images, recipe(DATASET, method, MODE)
    ).argmax(1)
    for method, run in runs.items()
}


def caption(i):
    given = split.train_labels[i]
    said = [
        f"<b>{m.upper()} {v[i]}</b>" if v[i] == given else f"{m.upper()} {v[i]}"
        for m, v in verdict.items()
    ]
    return f"given {given}<br>" + "<br>".join(said)


some = flipped.nonzero().flatten()[:12].tolist()
images_figure(
    split.train_images[some, 0].tolist(),
    [caption(i) for i in some],
    title="Twelve examples with a wrong label",
)

# %% [markdown]
# ## 6 The six settings of the paper
#
# Once more for all six noise settings of the paper. In mode *quick* the digits are trained under each, which takes seconds; the other modes train only the setting you asked for.

# %% tags=["training"]
settings_here = [NOISE] if MODE != "quick" else noise_settings(DATASET)[1:]
last_accuracy = {
    noise: {
        method: (
            runs[method] if noise == NOISE else train_method(method, noise)
        ).accuracy("last")
        for method in trained
    }
    for noise in settings_here
}

# %% [markdown]
# The accuracy after the last epoch, when memorising has done its work:

# %% tags=["nbval-ignore-output"]
figure = go.Figure()
for method in trained:
    heights = [row[method] for row in last_accuracy.values()]
    figure.add_bar(
        x=list(last_accuracy),
        y=heights,
        name=names[method],
        marker_color=line_style(method)["color"],
        text=[f"{height:.0%}" for height in heights],
    )
figure.update_layout(
    title=f"Clean test accuracy after the last epoch, {DATASET}",
    yaxis={"title": "accuracy", "range": (0, 1.02), "tickformat": ".0%"},
)
figure

# %% [markdown]
# **What to see**: the divergence ends above cross-entropy in five settings. In the sixth, sparse-high, both stop near one half, as notebooks 02 and 03 predicted: for half of the classes a wrong label is more frequent than the right one. [Notebook 09](09_bias_correction.ipynb) solves that setting.
#
# ### On MNIST itself
#
# These are runs of the paper's full recipe on the real MNIST (80 epochs, 50 000 noisy labels, exact product term), next to the paper's numbers. Ours is one seed, with the epoch chosen by the paper's rule on noisy validation data; the paper gives the best, the mean and the spread of its runs. `fdiv train mnist --mode paper --noise uniform-high` repeats one; commit, versions and machine stand in `data/results/accuracies.csv`.

# %% tags=["nbval-ignore-output"]
ours = our_accuracies().query(
    "dataset == 'mnist' and mode == 'paper' and method == 'tv'"
)
ours = ours.assign(ours=100 * ours["accuracy_noisy_objective"])
theirs = paper_accuracies().query("table == 'main' and dataset == 'mnist'")
beside = ours.merge(theirs, on=["dataset", "noise", "method"])
beside = beside.rename(columns={"mean": "paper, mean", "max": "paper, best"})
beside[["noise", "method", "seed", "ours", "paper, mean", "paper, best"]].round(2)

# %% [markdown]
# ## 7 Which labels are wrong?
#
# The question practitioners ask. A robust model has not memorised the wrong labels, so it *disagrees* with them. `rank_label_errors` orders the training examples by the probability the model gives to all other classes, in log-odds, so that even very confident predictions keep an order. Here we know the flips, and can score the ranking: AUROC is the chance that a wrong label stands before a right one.

# %% tags=["nbval-ignore-output"]
best = runs[METHOD].use("noisy-objective").cpu()
inputs = normalise(split.train_images, settings)
errors = rank_label_errors(best, inputs, split.train_labels, flipped=flipped)
print(f"AUROC {errors.auroc:.3f}")
errors.top(5).round(4)

# %% [markdown]
# The twelve most suspicious ones. You be the judge:

# %% tags=["nbval-ignore-output"]
top = errors.order[:12]
captions = [f"given {errors.given[i]}<br>looks like {errors.suggested[i]}" for i in top]
images_figure(
    split.train_images[top, 0].tolist(),
    captions,
    title="The labels that look most wrong",
)

# %% [markdown]
# **Against cleanlab.** The standard tool for this question is cleanlab. Its score, self-confidence, needs predicted probabilities, usually of a model trained with cross-entropy on *other* folds of the data. Let us give it three: the cross-entropy network after its last epoch, the same network at the epoch with the best noisy validation accuracy, and our robust network.

# %% tags=["nbval-ignore-output"]
from cleanlab.rank import get_label_quality_scores
from sklearn.metrics import roc_auc_score


def cleanlab_auroc(method, rule):
    model = runs[method].use(rule).cpu()
    logits = predict(model, split.train_images, recipe(DATASET, method, MODE))
    quality = get_label_quality_scores(
        split.train_labels.numpy(), logits.softmax(1).numpy()
    )
    return roc_auc_score(flipped, -quality)


auroc = {
    "cleanlab, cross-entropy, last epoch": cleanlab_auroc("ce", "last"),
    "cleanlab, cross-entropy, selected epoch": cleanlab_auroc("ce", "noisy-accuracy"),
    f"cleanlab, {names[METHOD]}": cleanlab_auroc(METHOD, "noisy-objective"),
    f"rank_label_errors, {names[METHOD]}": errors.auroc,
}
pd.Series(auroc, name="AUROC").round(3).to_frame()

# %% [markdown]
# **What to see**: what matters is the model, not the score. A network that has memorised wrong labels no longer finds them. With the robust network both tools rank alike, since both ask for the probability of the given label; where that saturates, log-odds keep the order. Cleanlab's own recipe, out-of-sample predictions, is the other cure for memorising, at the price of training the model once per fold.
#
# ## 8 Your own loop
#
# Nothing above is needed for your data: the losses are ordinary modules that take logits and integer labels. Here is a table from scikit-learn, 178 wines described by 13 numbers, with a third of the labels wrong.

# %%
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

X, y = load_wine(return_X_y=True)
X = torch.tensor(StandardScaler().fit_transform(X), dtype=torch.float32)
y = torch.tensor(y)
seed_everything(SEED)
wrong = torch.rand(len(y)) < 1 / 3
noisy = torch.where(wrong, (y + torch.randint(1, 3, y.shape)) % 3, y)

# %% [markdown]
# The loop, with `FDivLoss` where `nn.CrossEntropyLoss` would stand:

# %% tags=["training"]
model = torch.nn.Sequential(
    torch.nn.Linear(13, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3)
)
loss = FDivLoss("tv", num_classes=3)
optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(30):
    for batch in torch.randperm(len(y)).split(32):
        optimiser.zero_grad()
        loss(model(X[batch]), noisy[batch]).backward()
        optimiser.step()
right = (model(X).argmax(1) == y).float().mean()
suspects = rank_label_errors(model, X, noisy, flipped=wrong)

# %% [markdown]
# Judged by the true labels, which the loop never saw:

# %% tags=["nbval-ignore-output"]
print(f"{right:.0%} of the wines right, AUROC of the wrong labels {suspects.auroc:.3f}")

# %% [markdown]
# ## Claims checked
#
# Each line compares what this notebook states with what it measured. Those about training are made for the default `METHOD` and `NOISE` only.

# %% tags=["claim", "nbval-check-output"]
claim("the exact product term has the expectation of the sampled one", abs(z_score) < 4)
claim(
    "and less variance",
    variance["exact"] < 0.8 * variance["sampled"],
)
claim(
    "on MNIST four runs of the paper's recipe end within half a point of its mean, or above",
    len(beside) == 4 and (beside["ours"] >= beside["paper, mean"] - 0.5).all(),
)
claim("wrong labels of a table are found as well", suspects.auroc > 0.9)
claim("and the loop classifies it", right > 0.9)

# %% [markdown]
# What training did:

# %% tags=["claim", "nbval-check-output"]
ce, ours = runs["ce"], runs[METHOD]
memorised = {m: run.history["memorised"].iloc[-1] for m, run in runs.items()}
ce_auroc = auroc["cleanlab, cross-entropy, last epoch"]
if (METHOD, NOISE) == ("tv", "uniform-high"):
    margin = 0.10 if MODE == "quick" else 0
    claim(
        "total variation ends above cross-entropy",
        ours.accuracy("last") > ce.accuracy("last") + margin,
    )
    claim("its ranking finds wrong labels", errors.auroc > 0.85)
if (MODE, METHOD, NOISE) == ("quick", "tv", "uniform-high"):
    claim(
        "it has memorised less than half as many wrong labels",
        memorised[METHOD] < memorised["ce"] / 2,
    )
    claim(
        "and finds more of them than a network that memorised them",
        errors.auroc > ce_auroc + 0.05,
    )

# %% [markdown]
# ## Summary
# - Algorithm 1 compares the label an image was given with the label of some other image, and needs three mini-batches for it.
# - The product term is a sum over the classes: one forward pass, less variance, any batch size.
# - Cross-entropy learns the classes first and the wrong labels later; a bounded objective has little to gain from a wrong label.
# - Report which epoch you took and how you chose it; the oracle is not a result.
# - A model that has not memorised its labels can tell you which ones are wrong.
#
# ## Exercises
#
# **1.** Write the product term for logits: the mean over the batch of $\sum_y \tilde p(y)\, f^*(g_f(h_x[y]))$. `d` is a divergence with its `conjugate_of_activation`.


# %% tags=["exercise", "nbval-check-output"]
def product_term(logits, prior, d):
    raise NotImplementedError("your turn")


exercises.product_term(product_term)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `logits.softmax(dim=1)` has a row per image and a column per class, so `prior` multiplies along the columns.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def product_term(logits, prior, d):
#     h = logits.softmax(dim=1)
#     return (d.conjugate_of_activation(h) * prior).sum(dim=1).mean()
# ```
#
# </details>

# %% [markdown]
# **2.** People who re-implement Algorithm 1 often pair each image with the label of another image *of the same batch*, by shuffling the labels. Write a shuffle in which no image keeps its own label (a derangement). Return the indices.


# %% tags=["exercise", "nbval-check-output"]
def derangement(n):
    raise NotImplementedError("your turn")


exercises.derangement(derangement)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Arrange the images in a random circle and let each look at its left neighbour.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def derangement(n):
#     circle = torch.randperm(n)
#     result = torch.empty(n, dtype=torch.long)
#     result[circle] = circle.roll(1)
#     return result
# ```
#
# A plain `torch.randperm(n)` leaves one image with its own label on average. And even a derangement is no exact sample of $\tilde Q$: it leaves out the label that *was* there, so a class is paired with itself a little too rarely. The sum over classes has neither problem.
#
# </details>

# %% [markdown]
# **3.** How many images does the network see in the forward passes of one epoch of $N$ examples? Return the number for `product` being "sampled" or "exact", when every example is in the first mini-batch once.


# %% tags=["exercise", "nbval-check-output"]
def forward_passes(N, product):
    raise NotImplementedError("your turn")


exercises.forward_passes(forward_passes)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Of the third mini-batch only the labels are used.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def forward_passes(N, product):
#     return 2 * N if product == "sampled" else N
# ```
#
# </details>

# %% [markdown]
# ## Further reading
# - S. Nowozin, B. Cseke, R. Tomioka, *f-GAN: Training Generative Neural Samplers using Variational Divergence Minimization*, NeurIPS 2016: where the activations $g_f$ come from.
# - C. Zhang et al., *Understanding deep learning requires rethinking generalization*, ICLR 2017: networks fit random labels.
# - C. Northcutt, L. Jiang, I. Chuang, *Confident Learning: Estimating Uncertainty in Dataset Labels*, JAIR 2021: the ideas behind cleanlab.
#
# **Next**: [05 Fashion-MNIST](05_fashion_mnist.ipynb)
