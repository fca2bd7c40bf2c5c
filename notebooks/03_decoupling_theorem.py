# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03 · When noise cancels: the decoupling theorem
#
# **So far.** A divergence measures how much a prediction has to do with a label ([01](01_divergences_and_conjugates.ipynb)). Noise is a matrix $T$ between the true label and the one we are given ([02](02_noise_models.ipynb)). And there is a mystery: under one noise, sparse-high, ten methods stop near one half.
#
# **The question.** You make an objective large on noisy labels. When is the classifier you end up with the one that clean labels would have chosen?
#
# Paper: §3 and §4 (Theorems 4 to 7 and Corollary 1), §2.2 (Theorems 1 and 3), and their proofs in the appendix · Time: 18 min to read, 15 s to run (quick) · Needs: [01](01_divergences_and_conjugates.ipynb), [02](02_noise_models.ipynb)
#
# **Contents**: 1 The plane of classifiers · 2 A table and a channel · 3 The theorem in three steps · 4 Many classes · 5 Any matrix at all · 6 Who keeps the ranking? · 7 The mystery deepens

# %% tags=["parameters", "fold"]
MODE = "quick"  # exact tables, nothing is trained: all modes run the same
SEED = 0

# %% [markdown]
# `fdiv.theory.exact` computes on finite probability tables in float64, so every equality below can be checked to the last digits.

# %% tags=["fold"]
try:
    from fdiv import (
        DIVERGENCES,
        divergence,
        exact,
        method_title,
        noise,
        paper_accuracies,
    )
except ModuleNotFoundError as error:
    cure = "run  %pip install -e '..[notebooks]'  in a cell and restart the kernel, or start with  make lab"
    raise ModuleNotFoundError(f"this kernel has no {error.name}: {cure}") from None

import pandas as pd
import plotly.graph_objects as go
import torch

from fdiv.course import (
    check_parameters,
    claim,
    classifier_plane,
    curves_figure,
    line_style,
    nb03 as exercises,
    panels_figure,
    predict,
)

check_parameters(MODE=MODE, SEED=SEED)
torch.set_default_dtype(torch.float64)
names = {name: divergence(name).title for name in DIVERGENCES}
generator = torch.Generator().manual_seed(SEED)

# %% [markdown]
# ## 1 The plane of classifiers
#
# With two classes, $+$ and $-$, all that matters about a classifier are two numbers: how often it answers $+$ on a true $+$, and how often on a true $-$. So every classifier is a point in a square: the perfect one in one corner, the always-wrong one in the opposite corner, and on the diagonal those that guess.
#
# A divergence gives each point a value, and lines join points of equal value, as on a map. Noise draws another map. A learner may only choose from *some* classifiers, the points of a curve, and it takes the highest.

# %% tags=["predict"]
predict(
    "Noise redraws the map. For how many of the eight divergences do the lines keep their shape, so that the highest allowed point stays where it was?",
    [
        "For all eight: noise makes every classifier look worse alike",
        "For two: there the map only becomes flatter",
        "For none: no map survives noise",
    ],
    answer=1,
    why=[
        "It makes all of them look worse, but not alike. Choose KL and look at the two marked points on the curve.",
        "Total variation, and one more. Go through the menu and find it. This notebook shows why these two.",
        "Some do, exactly. Choose total variation.",
    ],
)

# %% [markdown]
# Drag the classifier, the noise rates and the prior, go through the divergences, draw a curve of your own. The bars at the bottom will be explained in section 3.

# %%
classifier_plane()

# %% [markdown]
# **What to see**: with total variation the noisy map is the clean one, only flatter. With KL the lines bend, and the best point of the curve jumps. And every map is symmetric: a classifier and its exact opposite stand on the same line.
#
# ## 2 A table and a channel
#
# Now with numbers. The *joint table* $P(h, Y)$ of a classifier $h$ tells how often each answer meets each label: a row is an answer, a column a label. This one is right 90 % of the time, and 60 % of the labels are $+$.


# %%
def classifier_table(prior, quality):
    """P(h, Y) of a classifier that is right with probability `quality` in both classes."""
    right, wrong = quality, 1 - quality
    return torch.tensor(
        [[prior * right, (1 - prior) * wrong], [prior * wrong, (1 - prior) * right]]
    )


def show(table):
    return pd.DataFrame(table.numpy(), ["says +", "says −"], ["label +", "label −"])


joint = classifier_table(prior=0.6, quality=0.9)
show(joint)

# %% [markdown]
# Noise acts on the labels alone, so the noisy table is a matrix product, $\tilde P = P\,T$. The table of *independent* answers and labels, $Q$, becomes $\tilde Q = Q\,T$. With $e_+ = 0.3$ (a $+$ becomes $-$) and $e_- = 0.1$:

# %%
e_plus, e_minus = 0.3, 0.1
T = torch.tensor([[1 - e_plus, e_plus], [e_minus, 1 - e_minus]])
show(exact.noisy(joint, T))

# %% [markdown]
# Notebook 01 turned a divergence into a bound, the variational difference $\mathrm{VD}(g) = \mathbb E_P[g] - \mathbb E_Q[f^*(g)]$. On noisy labels we can only compute $\widetilde{\mathrm{VD}}(g) = \mathbb E_{\tilde P}[g] - \mathbb E_{\tilde Q}[f^*(g)]$. How are the two related, **for the same $g$?**
#
# ### Exercise 1 ★: Through the channel
#
# Write the noisy joint table and the noisy label frequencies from $P(h,Y)$ and $T$.


# %% tags=["exercise", "nbval-check-output"]
def noisy_table(joint, T):
    raise NotImplementedError("your turn: return the noisy joint and the noisy prior")


exercises.noisy_table(noisy_table)

# %% [markdown]
# <details><summary>Hint</summary>
#
# A row of the joint table says how often each clean label goes with one answer. Noise redistributes it: multiply by $T$ from the right. The frequencies of the noisy labels are the column sums.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def noisy_table(joint, T):
#     noisy = joint @ T
#     return noisy, noisy.sum(0)
# ```
#
# </details>

# %% [markdown]
# ## 3 The theorem in three steps
#
# **Step 1: move the noise from the labels to $g$.** Averaging $g$ over noisy labels is the same as averaging $Tg$ over clean ones, where $(Tg)(h,i) = \sum_j T_{ij}\,g(h,j)$ is what $g$ will be on average when the clean label is $i$. Take any $g$ at all:

# %%
g = torch.tensor([[0.8, -0.5], [-0.2, 0.4]])
left = (exact.noisy(joint, T) * g).sum()
right = (joint * (g @ T.T)).sum()
print(f"{left:.12f}\n{right:.12f}")

# %% [markdown]
# **Step 2: split $T$.** Binary noise, and uniform noise in general, is $T = \varepsilon I + \mathbf 1 e^\top$ with $\varepsilon = 1 - \sum_j e_j$: keep the label with probability $\varepsilon$, otherwise draw from $e$ *whatever the class*. (For two classes $e = (e_-, e_+)$: $e_j$ is the chance of landing **on** $j$.)

# %%
e = torch.tensor([e_minus, e_plus])
epsilon = 1 - e.sum()
print(bool(torch.allclose(T, epsilon * torch.eye(2) + torch.ones(2, 1) * e)))

# %% [markdown]
# Hence $(Tg)(h,i) = \varepsilon\,g(h,i) + \sum_j e_j\,g(h,j)$. **The second part has lost the label $i$**: it only looks at the answer $h$.
#
# **Step 3: average.** Over $P$ this gives $\varepsilon\,\mathbb E_P[g] + \sum_j e_j\,\mathbb E_X[g(h,j)]$. Over $Q$, for $f^*(g)$, it gives the same with $f^*$. Subtract:
#
# $$\begin{aligned}\widetilde{\mathrm{VD}}_f(h,g) = {} & \varepsilon\,\mathrm{VD}_f(h,g) \\ & {}+ \underbrace{\sum_j e_j\,\Delta^j_f(h,g)}_{\mathrm{Bias}_f(h,g)},\end{aligned}$$
#
# $$\Delta^j_f = \mathbb E_X[g(h,j)] - \mathbb E_X[f^*(g(h,j))].$$
#
# **The noisy objective is the clean one, scaled, plus a bias that does not see the true label.** That is Theorem 4 (binary) and Theorem 5 (uniform) of the paper. Both sides, computed separately:

# %%
sides = exact.decouple_binary(joint, g, "kl", e_plus, e_minus)
noisy_side = exact.variational_difference(exact.noisy(joint, T), g, "kl")
print(f"noisy VD  {noisy_side:.12f}")
print(f"theorem   {sides.total:.12f}   =  {sides}")

# %% [markdown]
# How large is the bias? Let symmetric noise grow, and take the $g$ that is best for the noisy table, as training would.

# %% tags=["predict"]
predict(
    "KL's bias is large. And total variation's?",
    [
        "Of the same size: the noise is the same",
        "Zero when both classes are flipped alike, else not",
        "Zero, whatever the two noise rates are",
    ],
    answer=2,
    why=[
        "The bias compares g with f*(g). How far these differ depends on f, not on the noise.",
        "Equal rates are not needed. Look at the formula of the bias, and put in f* of total variation.",
        "For total variation f* is the identity on its domain, so each Δ is an average of g minus the same average.",
    ],
)

# %% [markdown]
# Dashed: the clean objective times $\varepsilon$. Solid: what noisy labels give. The space between them is the bias.

# %% tags=["fold"]
rates = torch.linspace(0, 0.48, 49)


def parts(name, rate):
    """ε VD and the noisy VD at the g that is best for the noisy table."""
    T = torch.tensor([[1 - rate, rate], [rate, 1 - rate]])
    g = exact.optimal_g(exact.noisy(joint, T), name)
    sides = exact.decouple_binary(joint, g, name, rate, rate)
    total = exact.variational_difference(exact.noisy(joint, T), g, name)
    return sides.clean.item(), total.item()


grown = {n: torch.tensor([parts(n, r) for r in rates.tolist()]).T for n in ("kl", "tv")}
panels = [
    (names[n], "symmetric noise rate", rates, {n: grown[n][1]}) for n in ("kl", "tv")
]
title = "The noisy objective (solid) and ε times the clean one (dashed)"
figure = panels_figure(panels, title=title)
for column, n in enumerate(("kl", "tv"), 1):
    figure.add_scatter(x=rates, y=grown[n][0], row=1, col=column, showlegend=False)
    figure.data[-1].line = {"color": "#555555", "dash": "dash", "width": 2}
figure.update_traces(line_dash="solid", selector=lambda t: t.name in names.values())
figure.update_layout(showlegend=False)

# %% [markdown]
# For total variation the two lines are one. **Its noisy objective is the clean one times $\varepsilon$, exactly.** Whoever maximises one maximises the other. That is the heart of the paper.
#
# ### Exercise 2 ★★: Take the bias out
#
# Uniform noise with rates $e$. Write the function $g'$ of a table $g$ for which $\mathbb E_{\tilde P}[g'] = \varepsilon\,\mathbb E_P[g]$: the paper's bias correction (Corollary 1), label by label.


# %% tags=["exercise", "nbval-check-output"]
def corrected_g(g, e):
    raise NotImplementedError("your turn")


exercises.corrected_g(corrected_g)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# $(Tg)(h,i) = \varepsilon\,g(h,i) + \sum_j e_j\,g(h,j)$, and the second part does not depend on the label $i$.
#
# </details>
# <details><summary>Hint 2</summary>
#
# Subtract from $g(h,\cdot)$ the same number for every label. Since the rows of $T$ sum to 1, that number passes through the channel unchanged.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def corrected_g(g, e):
#     return g - (g @ e)[:, None]
# ```
#
# </details>

# %% [markdown]
# ## 4 Many classes
#
# Nothing in the three steps used that there are two classes. Ten classes, a random table, a random $g$, all eight divergences:


# %% tags=["fold"]
def random_table(rows, columns):
    free = torch.rand(rows * columns, generator=generator)
    return free.softmax(0).reshape(rows, columns)


def random_g(name, shape):
    free = torch.rand(shape, generator=generator) * 2 - 1
    return divergence(name).activation(free)


e = torch.linspace(0.01, 0.09, 10)
T = torch.as_tensor(noise.uniform(e))
joint_10 = random_table(10, 10)
gaps = {}
for name in DIVERGENCES:
    g = random_g(name, (10, 10))
    noisy_vd = exact.variational_difference(exact.noisy(joint_10, T), g, name)
    theorem = exact.decouple_uniform(joint_10, g, name, e).total
    gaps[name] = (noisy_vd - theorem).abs().item()
print("largest gap between the two sides below 1e-12:", max(gaps.values()) < 1e-12)

# %% [markdown]
# What if $T$ is not uniform? Then step 2 fails: the rows of $T - \varepsilon I$ differ, so the extra part remembers the label, and a covariance between label and answer remains.

# %% tags=["fold"]
sparse_matrix = torch.as_tensor(noise.sparse(10, None, 0.3, 0.1))
covariance = {
    label: exact.decouple_covariance(joint_10, g, name, matrix).covariance.item()
    for label, matrix in {"uniform": T, "sparse": sparse_matrix}.items()
}
for label, value in covariance.items():
    print(
        f"{label} noise: the covariance is {'' if abs(value) < 1e-12 else 'not '}zero"
    )

# %% [markdown]
# **The decoupling is a property of uniform noise**, and of no other: the covariance vanishes for every $h$ and $g$ exactly when $T = \varepsilon I + \mathbf 1e^\top$. (For sparse noise the appendix has a theorem of its own, which [notebook 11](11_reading_the_paper_critically.ipynb) looks at.)
#
# ## 5 Any matrix at all
#
# Step 1 holds for every $T$, and gives two more facts.
#
# **The bias is a Jensen gap.** $\widetilde{\mathrm{VD}}(g) = \mathrm{VD}(Tg) - \mathbb E_Q[\,T f^*(g) - f^*(Tg)\,]$. Since $f^*$ is convex, the bracket is never negative: the noisy objective of $g$ lies below the clean objective of $Tg$. For total variation $f^*$ is linear on its domain, and the gap is zero.
#
# **Every invertible $T$ can be undone.** Apply $T^{-1}$ to $g$ under the noisy joint and to $f^*(g)$ under the noisy product, and the clean value comes back, whatever the noise:
#
# $$\mathrm{VD}(g) = \mathbb E_{\tilde P}[T^{-1}g] - \mathbb E_{\tilde Q}[T^{-1}f^*(g)].$$
#
# ### Exercise 3 ★★: Undo any noise
#
# Write it. You are given the *noisy* joint table, the tables of $g$ and of $f^*(g)$ (a row per answer, a column per label), and $T$. Return the clean $\mathrm{VD}(g)$.


# %% tags=["exercise", "nbval-check-output"]
def clean_vd(noisy_joint, g, dual_of_g, T):
    raise NotImplementedError("your turn")


exercises.clean_vd(clean_vd)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# $T^{-1}$ acts on the labels, as $T$ did in step 1: $(T^{-1}g)(h,i) = \sum_j (T^{-1})_{ij}\,g(h,j)$. In code that is `g @ torch.linalg.inv(T).T`.
#
# </details>
# <details><summary>Hint 2</summary>
#
# $\tilde Q$ is the product of the margins of $\tilde P$: row sums times column sums.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def clean_vd(noisy_joint, g, dual_of_g, T):
#     undo = torch.linalg.inv(T).T
#     product = noisy_joint.sum(1, keepdim=True) * noisy_joint.sum(0, keepdim=True)
#     return (noisy_joint * (g @ undo)).sum() - (product * (dual_of_g @ undo)).sum()
# ```
#
# </details>

# %% [markdown]
# Now the matrix of the mystery. Does sparse-high have an inverse?

# %% tags=["fold"]
sparse_high = torch.as_tensor(noise.paper_noise("mnist", "sparse-high"))
joint_s = random_table(10, 10)
noisy_s = exact.noisy(joint_s, sparse_high)
recovered = {}
for name in DIVERGENCES:
    g = random_g(name, (10, 10))
    clean_value = exact.variational_difference(joint_s, g, name)
    undone = exact.inverse_corrected(noisy_s, g, name, sparse_high)
    recovered[name] = (undone - clean_value).abs().item()
print("clean VD recovered for all eight to 1e-12:", max(recovered.values()) < 1e-12)

# %% [markdown]
# **It has, and the clean value comes back for all eight.** So the first suspect of notebook 02 is cleared: under sparse-high the information is *not* gone. With enough labels, and $T$, everything can be known that clean labels would tell. Whatever stops ten methods at one half, it is not the data.
#
# ## 6 Who keeps the ranking?
#
# So far $g$ and $h$ were given. Training *chooses* $h$. The paper calls a divergence **$\mathcal H$-robust** if a best classifier of a family $\mathcal H$ on clean labels is also best on noisy ones.
#
# **Total variation** under uniform noise is, for any $\mathcal H$ (Theorem 7): $\tilde D = \varepsilon D$ for every classifier, so no ranking changes. The others do not have this identity. Take two classifiers on balanced classes: the *specialist* rarely says $-$ but is then quite sure; the *generalist* is a bit right everywhere.


# %%
def balanced_table(says_plus, covariance):
    d = covariance
    return torch.tensor(
        [
            [says_plus / 2 + d, says_plus / 2 - d],
            [(1 - says_plus) / 2 - d, (1 - says_plus) / 2 + d],
        ]
    )


specialist, generalist = balanced_table(0.96, 0.0198), balanced_table(0.536, 0.0538)

# %% tags=["predict"]
predict(
    "On clean labels KL prefers the specialist. Symmetric noise grows, the same for both. Whom does KL prefer at 30 %?",
    [
        "The generalist: noise costs the specialist more",
        "Still the specialist: the noise treats both alike",
        "It can no longer tell the two apart",
    ],
    answer=0,
    why=[
        "KL changes its mind at less than 10 % noise. It is not robust, even for balanced classes and symmetric noise.",
        "It treats the labels alike, not the classifiers. The specialist lives on being nearly sure, and noise takes sureness first.",
        "That would be at 50 %, where the labels are pure chance.",
    ],
)

# %% [markdown]
# The lead of the specialist, according to each divergence: $(D_{\text{specialist}} - D_{\text{generalist}})$ divided by their sum.

# %% tags=["fold"]


def relative_lead(name):
    """(D(specialist) - D(generalist)) / their sum, as symmetric noise grows."""
    leads = []
    for r in rates:
        T = torch.tensor([[1 - r, r], [r, 1 - r]])
        a, b = (
            exact.f_divergence(exact.noisy(table, T), name)
            for table in (specialist, generalist)
        )
        leads.append(((a - b) / (a + b)).item())
    return leads


leads = {name: relative_lead(name) for name in DIVERGENCES}
curves_figure(
    leads,
    rates,
    names=names,
    title="Who leads? Above zero the specialist, below the generalist",
    x_title="symmetric noise rate",
    y_title="relative lead",
)

# %% [markdown]
# **Every line bends as noise grows, except two that are exactly flat: total variation and Pearson.** The other six all change their mind about these two classifiers.
#
# Pearson's flat line is a surprise. With two classes, $P - Q$ has a single free number $d$: its four cells are $\pm d$. Noise turns $d$ into $\varepsilon d$. Pearson is $\sum (P-Q)^2/Q = d^2 \sum_h \frac1{P(h)} \sum_y \frac1{p_y}$, so its noisy value is $\varepsilon^2 \cdot \big(\sum_y 1/\tilde p_y\big) / \big(\sum_y 1/p_y\big)$ times the clean one, a factor that does not depend on the classifier. With more classes the cells of $P - Q$ are not all of one size, and this argument ends; notebook 12 says what remains.
#
# Look at where the lines end: as labels become pure noise, all smooth divergences agree with Pearson. That is the parabola of notebook 01.
#
# **A tie that no divergence can break.** $D_f$ does not know the *names* of the answers. Swap the two rows, so that the classifier always says the opposite, and nothing changes:

# %%
good = classifier_table(0.5, 0.9)
anti = good.flip(0)
values = {n: [exact.f_divergence(t, n) for t in (good, anti)] for n in DIVERGENCES}
same_value = all(torch.isclose(a, b) for a, b in values.values())
accuracies = [round(exact.accuracy(table).item(), 6) for table in (good, anti)]
print("accuracies", accuracies, "same D_f for all eight:", same_value)

# %% [markdown]
# So a divergence finds the classes, but not their names (Theorems 1 and 3 hold up to renaming). In training the names come from $g_f(h_x[y])$: it rewards the probability *of the label itself*. That is why a decreasing $g_f$ made an anti-classifier in notebook 01.
#
# ### Exercise 4 ★: Bad but informative
#
# For two balanced classes $D_{TV} = |\mathrm{accuracy} - \tfrac12|$. Write a table $P(h,Y)$ with accuracy 0.2 that has the same total variation as a classifier with accuracy 0.8, with both classes balanced.


# %% tags=["exercise", "nbval-check-output"]
def bad_but_informative():
    raise NotImplementedError("your turn")


exercises.bad_but_informative(bad_but_informative)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Take the classifier with accuracy 0.8 and say the opposite.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def bad_but_informative():
#     return torch.tensor([[0.1, 0.4], [0.4, 0.1]])
# ```
#
# </details>

# %% [markdown]
# ## 7 The mystery deepens
#
# Back to ten classes and sparse-high. Compare two classifiers: the **perfect** one, and the one that fits the noisy labels best, which answers the most frequent label and is **half wrong** (notebook 02).

# %%
perfect = torch.eye(10) / 10
half_wrong = torch.zeros(10, 10)
half_wrong[sparse_high.argmax(1), torch.arange(10)] = 0.1
print([round(exact.accuracy(table).item(), 6) for table in (perfect, half_wrong)])

# %% tags=["predict"]
predict(
    "Under sparse-high noise, which of the two has the larger KL divergence, measured with the noisy labels?",
    [
        "The half-wrong one: it agrees with the noisy labels more often",
        "The perfect one: its answers say more about the label",
        "Neither: under so much noise the two tie",
    ],
    answer=1,
    why=[
        "It agrees more often. But a divergence does not count agreements; it asks how much an answer tells about the label.",
        "The half-wrong one merges pairs of classes, and merging can only lose. It is a small difference, and it has the right sign.",
        "So it is for total variation, which is indifferent here. KL is not.",
    ],
)

# %% [markdown]
# The noisy divergences of both:

# %% tags=["fold"]
rows = {
    names[n]: [
        exact.f_divergence(exact.noisy(table, sparse_high), n).item()
        for table in (perfect, half_wrong)
    ]
    for n in DIVERGENCES
}
judged = pd.DataFrame(rows, index=["perfect", "half wrong"]).T
judged.map(lambda x: f"{x:.4f}".replace("inf", "∞"))

# %% [markdown]
# **Jensen-Shannon, squared Hellinger, Pearson and KL prefer the perfect classifier**, as they should. Total variation ties. For the other three both are infinite, since this $T$ has zeros. So a learner that made KL's divergence as large as possible would be right. And here is what learners do:

# %% tags=["fold"]
reported = paper_accuracies()
reported = reported[reported["table"].isin(["main", "main-full"])]
reported = reported.assign(best=reported["mean"].fillna(reported["max"]))
trained = ["tv", "js", "pearson", "kl", "jeffrey"]
reported = reported[reported["method"].isin(trained)]
settings = list(reported.groupby(["dataset", "noise"], sort=False).groups)
short = {"fashion-mnist": "fashion"}
labels = [f"{short.get(d, d)}, {setting}" for d, setting in settings]
T_of = {one: torch.as_tensor(noise.paper_noise(*one)) for one in settings}
tops = {one: [exact.ceiling(n, T) for n in trained] for one, T in T_of.items()}

figure = go.Figure()
heights = [100 * max(tops[one]) for one in settings]
figure.add_bar(y=labels, x=heights, orientation="h", name="computed from T alone")
figure.data[0].marker.color = "#DDE2E8"
for n in trained:
    here = reported[reported["method"] == n].set_index(["dataset", "noise"])["best"]
    x = [here.get(one) for one in settings]
    figure.add_scatter(x=x, y=labels, mode="markers", name=method_title(n))
    figure.data[-1].marker = {"color": line_style(n)["color"], "size": 8}
title = "What the paper reports (dots), and what infinite data would give (bars)"
figure.update_layout(title=title, height=680, margin_l=170, xaxis_title="accuracy, %")
below = {"orientation": "h", "y": -0.1, "x": 0.5, "xanchor": "center"}
figure.update_layout(legend=below, bargap=0.35)
figure.update_yaxes(autorange="reversed").update_xaxes(range=(0, 104))

# %% [markdown]
# The dots are the paper's results of five divergences, in every setting. The bars are ours, and nothing was trained for them. Training uses a *fixed* $g_f(h_x[y])$ (notebook 01), so at each input $x$ the network maximises
#
# $$\sum_y \Big[\tilde\eta_y(x)\,g_f(v_y) - \tilde p_y\,f^*(g_f(v_y))\Big]$$
#
# over probability vectors $v$, where $\tilde\eta_y(x)$ is the chance that $x$ gets the label $y$. For balanced classes and clear images that is a small problem that can be solved exactly; `exact.ceiling` does, and counts how often the largest $v_y$ is the truth. Under sparse-high the exact optimum is right half of the time, for each of the five. It is not the training, not the network, not the amount of data. **The formula itself peaks at a half-wrong classifier.**
#
# (A dot may lie above its bar: a ceiling is the accuracy *at the maximum*, and a training that passes a better classifier on its way may stop before it gets there.)
#
# ### Exercise 5 ★★★: Where the formula peaks
#
# See it with your own loop. Of an image of a weak class, only two labels are in the running: its own, with the share `eta[0]` of such images and the frequency `prior[0]` among all labels, and its partner's, `eta[1]` and `prior[1]`. Let $v = (t, 1-t)$ be what the network gives to the two. Return the $t$ from 0 to 1 at which
#
# $$\sum_{y} \Big[\eta_y\,g_f(v_y) - p_y\,f^*(g_f(v_y))\Big]$$
#
# is largest. `d.activation` is $g_f$ and `d.conjugate_of_activation` is $f^*(g_f(\cdot))$; both take tensors. Then try it on sparse-high: `peak(divergence("kl"), (0.3, 0.7), (0.05, 0.15))`.


# %% tags=["exercise", "nbval-check-output"]
def peak(d, eta, prior):
    raise NotImplementedError("your turn")


exercises.peak(peak)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# A grid is good enough: `t = torch.linspace(0, 1, 1001)`, and the sum for all its points at once.
#
# </details>
# <details><summary>Hint 2</summary>
#
# Two labels, two terms each: one with `t`, one with `1 - t`. Then `t[heights.argmax()]`.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# def peak(d, eta, prior):
#     t = torch.linspace(0, 1, 1001, dtype=torch.float64)
#     heights = 0
#     for v, share, frequency in zip((t, 1 - t), eta, prior):
#         heights = heights + share * d.activation(v) - frequency * d.conjugate_of_activation(v)
#     return t[heights.argmax()]
# ```
#
# For sparse-high all eight have their top below one half, so the partner's name wins; for KL, Pearson and Jeffrey it is at 0.
#
# </details>

# %% [markdown]
# So we have two facts that do not fit together. **KL's divergence is largest at the perfect classifier. The formula that we train, made to be a lower bound of that divergence, is largest at a half-wrong one.** Somewhere on the way from one to the other, something was lost.
#
# ## Claims checked
#
# The theorems, exactly.

# %% tags=["claim", "nbval-check-output", "fold"]
claim(
    "binary decoupling (Theorem 4) holds to 1e-12",
    abs(noisy_side - sides.total) < 1e-12,
)
claim("uniform decoupling (Theorem 5) holds for all eight", max(gaps.values()) < 1e-12)
claim(
    "the covariance that sparse noise leaves is not zero, that of uniform noise is",
    abs(covariance["uniform"]) < 1e-12 < 1e-6 < abs(covariance["sparse"]),
)
claim(
    "total variation has no bias at any rate, KL has one at every rate above zero",
    (grown["tv"][0] - grown["tv"][1]).abs().max() < 1e-12
    and bool(((grown["kl"][0] - grown["kl"][1])[1:] > 1e-6).all()),
)
claim(
    "the inverse of sparse-high's T recovers the clean value for all eight",
    max(recovered.values()) < 1e-12,
)
flat = torch.tensor([leads["tv"], leads["pearson"]])
claim("total variation and Pearson keep their lead exactly", (flat.std(1) < 1e-9).all())
others = [leads[n] for n in DIVERGENCES if n not in ("tv", "pearson")]
claim(
    "each of the other six prefers the specialist on clean labels and the generalist under much noise",
    all(lead[0] > 0 > lead[-1] for lead in others),
)
claim("KL has changed its mind at 10 % noise", leads["kl"][10] < 0)
claim(
    "at 48 % noise all seven smooth divergences give the same lead, to 0.001",
    max(abs(leads[n][-1] - leads["pearson"][-1]) for n in DIVERGENCES if n != "tv")
    < 1e-3,
)
claim("a classifier and its opposite have the same divergence, all eight", same_value)

# %% [markdown]
# The mystery: two facts that do not fit together.

# %% tags=["claim", "nbval-check-output", "fold"]
finite = ["js", "squared-hellinger", "pearson", "kl"]
ahead = [
    judged.loc[names[n], "perfect"] - judged.loc[names[n], "half wrong"] for n in finite
]
claim(
    "under sparse-high J-S, squared Hellinger, Pearson and KL are larger at the perfect classifier",
    min(ahead) > 1e-4,
)
tv_row = judged.loc[names["tv"]]
claim("total variation ties", abs(tv_row["perfect"] - tv_row["half wrong"]) < 1e-12)
sparse = [
    one for one in settings if one in T_of and one[1] in ("sparse-high", "sparse")
]
claim(
    "what is trained peaks at a half-wrong classifier, for five divergences and four datasets under strong sparse noise",
    len(sparse) == 4 and all(top == 0.5 for one in sparse for top in tops[one]),
)
grid = torch.linspace(0, 1, 1001)
at = [
    grid[
        (
            0.3 * d.activation(grid)
            + 0.7 * d.activation(1 - grid)
            - 0.05 * d.conjugate_of_activation(grid)
            - 0.15 * d.conjugate_of_activation(1 - grid)
        ).argmax()
    ].item()
    for d in map(divergence, DIVERGENCES)
]
claim("for a weak class of sparse-high all eight peak below one half", max(at) < 0.5)
claim(
    "in every other setting it peaks at the right one",
    all(top == 1 for one in settings if one not in sparse for top in tops[one]),
)

# %% [markdown]
# ## Summary
# - Noise on labels can be moved onto $g$: $\mathbb E_{\tilde P}[g] = \mathbb E_P[Tg]$. Everything else follows.
# - Uniform noise decouples: $\varepsilon\,\mathrm{VD}$ plus a bias that does not see the label. No other noise does.
# - Total variation has no bias under uniform noise, so it is exactly robust. Pearson is too, for two classes. The others can change their ranking.
# - Any invertible $T$ can be undone exactly with $T^{-1}$, sparse-high included.
# - What a fixed $g_f$ can reach is computable before training. Under sparse-high it is one half, although the divergence itself knows better.
#
# ## Further reading
# - Y. Liu and H. Guo, *Peer Loss Functions*, ICML 2020: the same cancellation for a loss that compares with a random label.
# - N. Natarajan et al., *Learning with Noisy Labels*, NeurIPS 2013: undoing $T$ by its inverse.
# - A. Menon et al., *Learning from Corrupted Binary Labels via Class-Probability Estimation*, ICML 2015: what survives corruption.
#
# ## To be continued
#
# Before we go hunting for what was lost, we should see the formula at work. How does one train with it, on mini-batches, with a network, on images? [Notebook 04](04_mnist.ipynb) goes through Algorithm 1 line by line. The mystery comes along.
