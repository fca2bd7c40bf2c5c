# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 05 · Fashion-MNIST: thirteen methods, one harness
#
# **Why.** A table of accuracies compares methods only if everything else is equal. With noisy labels one thing hardly ever is: *which epoch* the number comes from. You will train all thirteen methods of the paper the same way, and see the ranking change while the training stays the same.
#
# Paper: §5.3 and its tables, appendix C.5 · Time: 20 min to read, 75 s to run (quick) · Needs: [04](04_mnist.ipynb)
#
# **You will be able to**
# - say what each of the five baselines and eight divergences asks of a network, and what it needs to know
# - choose an epoch without clean labels, in three ways
# - measure what such a choice costs, and tell a difference from luck
# - check a comparison of methods, your own or a published one, against a list
#
# **Contents**: 1 Thirteen methods · 2 Train them all · 3 The table · 4 The epoch you report moves the ranking · 5 What selection costs · 6 Luck · 7 A checklist · Claims checked · Exercises

# %% tags=["parameters"]
MODE = "quick"  # the digits; "laptop" and "paper" train on Fashion-MNIST itself
NOISE = "uniform-high"
SEED = 0  # the first of
SEEDS = 3  # seeds for every method
METHODS = "all"  # or names with commas between, such as "ce,flc,tv"
CORRECTION = "none"  # of the divergences: "paper" or "exact", see notebook 09
TRANSITION = "estimated"  # or "true", where a method needs T

# %% [markdown]
# The imports, and a check of the parameters.

# %% tags=["grid", "fold"]
import pandas as pd
import plotly.graph_objects as go
import torch

from fdiv.course import (
    check_parameters,
    claim,
    curves_figure,
    explore,
    kept_folder,
    line_style,
    log_epoch,
)
from fdiv.course.exercises import nb05 as exercises
from fdiv.datasets import check_noise, load, noisy_data
from fdiv.experiments import (
    Experiment,
    paper_accuracies,
    recipe,
    run_experiment,
)
from fdiv.learning import METHODS as ROWS
from fdiv.learning import ORACLE, RULES, method_title, paper_methods
from fdiv.noise import labels_sha256
from fdiv.theory import DIVERGENCES

DATASET = "digits" if MODE == "quick" else "fashion-mnist"
check_parameters(
    choices={
        "SEEDS": range(1, 101),
    },
    MODE=MODE,
    NOISE=NOISE,
    SEED=SEED,
    SEEDS=SEEDS,
    METHODS=METHODS,
    CORRECTION=CORRECTION,
    TRANSITION=TRANSITION,
)
NOISE = check_noise(DATASET, NOISE)
chosen = [
    ROWS.name_of(name)
    for name in (paper_methods() if METHODS == "all" else METHODS.split(","))
]

# %% [markdown]
# ## 1 Thirteen methods
#
# With $h_x$ the softmax output and $\tilde y$ the given label:
#
# | method | minimises | needs |
# |---|---|---|
# | Cross-entropy | $-\log h_x[\tilde y]$ | nothing |
# | Backward correction (BLC) | $-\sum_j (T^{-1})_{\tilde y j}\,\log h_x[j]$ | $T$ |
# | Forward correction (FLC) | $-\log (h_x T)[\tilde y]$ | $T$ |
# | DMI | $-\log\lvert\det \sum_x \mathbf 1_{\tilde y}\, h_x^\top\rvert$ over a batch | a warm-up; every class in the batch |
# | Peer loss (PL) | $-\log h_x[\tilde y] + \alpha\,\log h_{x'}[\tilde y'']$ | a schedule for $\alpha$ |
# | the eight $D_f$ | $-g_f(h_x[\tilde y]) + f^*(g_f(h_{x'}[\tilde y'']))$ | nothing |
#
# $x'$ and $\tilde y''$ belong to two other examples. BLC and FLC estimate $T$ from a network of their own that is trained first, with cross-entropy ([notebook 09](09_bias_correction.ipynb) looks at such estimates). Backward correction is unbiased and can be negative; forward correction is what the likelihood says if $T$ is right.
#
# What each is trained with comes from one place, `recipe`:

# %%
table = pd.DataFrame(
    {
        "model": settings.model,
        "optimiser": settings.optimiser,
        "epochs, learning rate": ", ".join(
            f"{n} × {r:g}" for n, r in settings.schedule
        ),
        "batch": settings.batch_size,
        "first": "cross-entropy, to warm up"
        if settings.warm_up
        else "cross-entropy, for T"
        if method in ("blc", "flc")
        else "",
    }
    for method in chosen
    for settings in [recipe(DATASET, method, MODE)]
)
table.set_axis([method_title(method) for method in chosen])

# %% [markdown]
# In mode *quick* all share a small network. In mode *paper*, as in the paper, BLC and FLC use a fully connected net with AdaGrad while the others use a CNN with Adam. Keep that in mind when you compare the paper's columns: **two things change at once there.**
#
# ## 2 Train them all
#
# The same noisy labels and the same split for all. `SEEDS` seeds each change the initial weights and the order of the batches, nothing else. (The cells tagged `grid`, with one method and one seed, are what `fdiv grid` executes for every run of a table.)

# %% tags=["training", "grid", "nbval-ignore-output"]
runs = {}
for method in chosen:
    for seed in range(SEED, SEED + SEEDS):
        what = Experiment(
            dataset="fashion-mnist",
            noise=NOISE,
            method=method,
            mode=MODE,
            seed=seed,
            correction=CORRECTION if method in DIVERGENCES else "none",
            transition=TRANSITION,
        )
        runs[method, seed], _ = run_experiment(what, kept_folder(what), log_epoch)
print(f"{len(runs)} runs")

# %% [markdown]
# How each of them went with the first seed. DMI's line is short, for half of its epochs are a warm-up.

# %% tags=["grid", "nbval-ignore-output"]
histories = {method: runs[method, SEED].history for method in chosen}
curves_figure(
    {method: history["test_accuracy"] for method, history in histories.items()},
    list(range(1, 1 + max(map(len, histories.values())))),
    names={method: method_title(method) for method in chosen},
    title=f"Accuracy on clean test data, {NOISE} noise, seed {SEED}",
    x_title="epoch",
    y_title="accuracy",
).update_layout(height=460)

# %% [markdown]
# ## 3 The table
#
# One row per method, one column per way to choose the epoch, mean and standard deviation over the seeds, in percent of the clean test set. The first three columns are results. **The last one is not**: it looked at the test labels to choose.

# %% tags=["grid"]
rules = [*RULES, ORACLE]
results = pd.DataFrame(
    {"method": method, "seed": seed, "rule": rule, "accuracy": run.accuracy(rule)}
    for (method, seed), run in runs.items()
    for rule in rules
)
accuracies = results.groupby(["method", "rule"])["accuracy"]
mean = accuracies.mean().unstack().loc[chosen, rules]
spread = accuracies.std().unstack().loc[chosen, rules]

# %% [markdown]
# Rounded to what three seeds can support:

# %% tags=["grid", "nbval-ignore-output"]
shown = (100 * mean).map("{:.1f}".format)
if SEEDS > 1:
    shown += " ± " + (100 * spread).map("{:.1f}".format)
shown.set_axis([method_title(method) for method in chosen])

# %% [markdown]
# **What to see**: read down the column *last*, then down the column *oracle*. Cross-entropy is far behind in one and close to the others in the other.
#
# ## 4 The epoch you report moves the ranking
#
# The ranking of the methods under each rule. A line that crosses others changes places although nobody trained anything anew.

# %% tags=["nbval-ignore-output"]
ranks = mean.rank(ascending=False)
figure = go.Figure()
for method in chosen:
    figure.add_scatter(
        x=rules,
        y=ranks.loc[method],
        name=method_title(method),
        mode="lines+markers",
        line=line_style(method),
    )
figure.update_layout(
    title="Rank of each method, by the rule that chose the epoch",
    yaxis={"title": "rank (1 is best)", "autorange": "reversed", "dtick": 1},
    height=460,
)
figure

# %% [markdown]
# **What to see**: the lines that cross most. A method that changes little once it has found something leads by the *last* epoch; one that peaks early and then memorises does well by the *oracle* only. A paper that reports the best test epoch of every method gives all of them a clean validation set for nothing, and those that memorise profit most.
#
# Choose a rule and see the methods in order. In JupyterLab the menu is live.


# %% tags=["interactive", "nbval-ignore-output"]
def ranking_figure(rule="last"):
    order = mean[rule].sort_values().index
    figure = go.Figure(
        go.Bar(
            x=100 * mean.loc[order, rule],
            y=[method_title(method) for method in order],
            error_x={"array": 100 * spread.loc[order, rule].fillna(0)},
            marker_color=[line_style(method)["color"] for method in order],
            orientation="h",
        )
    )
    figure.update_layout(
        title=f"Clean test accuracy, epoch chosen by: {rule}",
        xaxis={"title": "accuracy, percent, ± one standard deviation"},
        yaxis={"automargin": True, "dtick": 1},
        height=440,
    )
    return figure


explore(ranking_figure, rule=rules)

# %% [markdown]
# ## 5 What selection costs
#
# The **regret** of a rule is what it loses against the oracle: the accuracy of the best epoch minus that of the chosen one, in points.

# %% tags=["nbval-ignore-output"]
regret = 100 * mean.rsub(mean[ORACLE], axis=0)[list(RULES)]
with_mean = pd.concat(
    [regret.rename(index=method_title), regret.mean().to_frame("mean of all").T]
)
with_mean.round(1)

# %% [markdown]
# Read the last row first. Stopping at the end is expensive, for the divergences too: with 700 wrong labels among 1000 they also memorise in the end, only less and later. Both rules that use *noisy* validation labels lose much less, without a single clean label. For uniform noise there is a reason: for a given mix of predictions, noisy accuracy is a straight line in clean accuracy (exercise 2), so the order of two models survives.
#
# The paper's rule, the largest $D_f$ on noisy validation data, is one of them, so its numbers for $D_f$ can have been chosen honestly. What its baselines were chosen by is not said.
#
# ## 6 Luck
#
# Two methods that differ by less than their spread over seeds are not ranked by your experiment. For the same seed both methods see the same batches, so compare *pairs*: the mean difference to the best method, and its standard error.

# %% tags=["nbval-ignore-output"]
selected = results.query("rule == 'noisy-objective'").pivot(
    index="seed", columns="method", values="accuracy"
)
best = selected.mean().idxmax()
behind = selected.rsub(selected[best], axis=0)
luck = pd.DataFrame(
    {
        "behind the best": 100 * behind.mean(),
        "standard error": 100 * behind.std() / len(behind) ** 0.5,
    }
).sort_values("behind the best")
print("best:", method_title(best))
luck.rename(index=method_title).round(2)

# %% [markdown]
# Where the difference is not at least twice its standard error, say *tied*. With three seeds even that is generous.
#
# ### The paper's table
#
# For reference, the paper's Fashion-MNIST numbers under this noise: the best run of each baseline; best, mean and standard deviation of the divergences. They are accuracies on other images than the digits of mode *quick*.

# %% tags=["nbval-ignore-output"]
paper = paper_accuracies().query("table == 'main-full' or table == 'main'")
paper = paper.query("dataset == 'fashion-mnist' and noise == @NOISE")
paper = paper.drop_duplicates("method").set_index("method")
paper[["max", "mean", "std"]].rename(index=method_title)

# %% [markdown]
# ## 7 A checklist
#
# What to ask of any comparison under label noise, and how this notebook answers. The first five are checked by code below.
#
# 1. **The same noisy labels** for every method, by fingerprint, and not only the same rate.
# 2. **Test images that nobody trained on**, with clean labels.
# 3. **Validation labels as noisy as the training labels**, if they choose anything.
# 4. **The same seeds**, so that differences can be paired.
# 5. **The budget**, counted: a method that trains a first network to estimate $T$ has had twice the epochs.
# 6. The same network and optimiser, or it is said that they differ.
# 7. What a method is *told* ($T$, the noise rate, a clean set) stands in the table.
# 8. The rule that chose the epoch stands in the table, and it is not the oracle.
# 9. A spread over seeds, and "tied" where it does not separate.

# %%
first, second = (noisy_data(DATASET, NOISE).split for _ in range(2))
same_labels = labels_sha256(first.train_labels) == labels_sha256(second.train_labels)
train_set = {image.numpy().tobytes() for image in first.train_images}
shared = sum(image.numpy().tobytes() in train_set for image in first.test_images)
given = torch.cat([first.train_labels, first.validation_labels])
wrong = (given != load(DATASET).train_labels).float()
wrong_in_training, wrong_in_validation = (
    part.mean().item() for part in wrong.tensor_split([len(first.train_labels)])
)

# %% [markdown]
# The budget: all epochs of all stages.

# %% tags=["nbval-ignore-output"]
budget = pd.Series(
    {
        method: settings.epochs * (2 if method in ("blc", "flc") else 1)
        + (settings.warm_up.epochs if settings.warm_up else 0)
        for method in chosen
        for settings in [recipe(DATASET, method, MODE)]
    },
    name="epochs, all stages",
)

budget.rename(index=method_title).to_frame()

# %% [markdown]
# ## Claims checked

# %% tags=["claim", "nbval-check-output"]
claim("every run saw the same noisy labels", same_labels)
claim("no test image is a training image", shared == 0)
claim(
    "validation labels are about as noisy as training labels",
    abs(wrong_in_training - wrong_in_validation) < 0.1,
)

# %% [markdown]
# What the runs showed; these three are made for the default parameters only.

# %% tags=["claim", "nbval-check-output"]
if (MODE, METHODS, NOISE, CORRECTION) == ("quick", "all", "uniform-high", "none"):
    claim(
        "by the last epoch cross-entropy trails every divergence",
        mean["last"]["ce"] < mean["last"][list(DIVERGENCES)].min(),
    )
    claim(
        "by the oracle it comes at least three places closer to the top",
        ranks["last"]["ce"] - ranks[ORACLE]["ce"] >= 3,
    )
    claim(
        "choosing by noisy validation labels loses less than half of what the last epoch loses",
        2 * regret["noisy-accuracy"].mean() < regret["last"].mean(),
    )

# %% [markdown]
# ## Summary
# - Thirteen methods differ in what they minimise and in what they must be told; most of all they differ in how much the epoch matters.
# - A method can look fine under the oracle and poor at the end. State the rule that chose the epoch.
# - Noisy validation labels are good enough to choose an epoch by, under class-conditional noise.
# - Pair the seeds, and call ties ties.
#
# ## Exercises
#
# **1.** Compute the regret of a rule. `chosen_by` holds, per epoch, the score the rule looks at (larger is better), `accuracy` the clean test accuracy. Of equal scores the first epoch counts.


# %% tags=["exercise", "nbval-check-output"]
def regret_of(chosen_by, accuracy):
    raise NotImplementedError("your turn")


exercises.regret_of(regret_of)

# %% [markdown]
# <details><summary>Hint</summary>
#
# `max(range(len(chosen_by)), key=...)` gives the first epoch with the largest score.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def regret_of(chosen_by, accuracy):
#     epoch = max(range(len(chosen_by)), key=lambda e: chosen_by[e])
#     return max(accuracy) - accuracy[epoch]
# ```
#
# </details>

# %% [markdown]
# **2.** Under uniform noise, $T = (1-\sum_j e_j) I + \mathbf 1 e^\top$, a model predicts class $k$ for a share $q_k$ of the images and has clean accuracy $a$. What accuracy does it have on noisy labels? Return it.


# %% tags=["exercise", "nbval-check-output"]
def noisy_accuracy(a, e, q):
    raise NotImplementedError("your turn")


exercises.noisy_accuracy(noisy_accuracy)

# %% [markdown]
# <details><summary>Hint</summary>
#
# With probability $1-\sum_j e_j$ the label is the clean one. Otherwise it is $j$ with chance $e_j$, whatever the image: then the prediction is right by accident.
#
# </details>
# <details><summary>Solution</summary>
#
# Increasing in $a$ for given $q$: this is why noisy validation accuracy can choose a model.
#
# ```python
# def noisy_accuracy(a, e, q):
#     return (1 - sum(e)) * a + sum(x * y for x, y in zip(e, q))
# ```
#
# </details>

# %% [markdown]
# **3.** Two methods were run with the same seeds. Return the mean difference of the first to the second, and its standard error, from the paired differences.


# %% tags=["exercise", "nbval-check-output"]
def paired_difference(first, second):
    raise NotImplementedError("your turn")


exercises.paired_difference(paired_difference)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Subtract seed by seed first. The standard error is the standard deviation of the differences (divisor $n-1$) over $\sqrt n$.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def paired_difference(first, second):
#     differences = pd.Series(first) - pd.Series(second)
#     return differences.mean(), differences.std() / len(differences) ** 0.5
# ```
#
# </details>

# %% [markdown]
# ## Further reading
# - G. Patrini et al., *Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach*, CVPR 2017.
# - Y. Xu, P. Cao, Y. Kong, Y. Wang, *L_DMI: A Novel Information-theoretic Loss Function for Training Deep Nets Robust to Label Noise*, NeurIPS 2019.
# - Y. Liu, H. Guo, *Peer Loss Functions: Learning from Noisy Labels without Knowing Noise Rates*, ICML 2020.
# - X. Bouthillier et al., *Accounting for Variance in Machine Learning Benchmarks*, MLSys 2021.
#
# **Next**: [06 CIFAR-10: the warm-up, and one curve drawn three times](06_cifar10.ipynb)
