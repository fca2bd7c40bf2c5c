# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 · Measuring a difference: divergences and conjugates
#
# **So far.** In [00](00_start_here.ipynb) a network learned digits from labels of which half were wrong, because it was asked to agree with its label *more than* with a random one. The formula fell from the sky.
#
# **The question.** How do you put a number on "more than at random"? And how can a network make that number large, when all it has are samples?
#
# Paper: §2 with Table 1, and the full table in the appendix · Time: 21 min to read, 20 s to run (quick) · Needs: [00](00_start_here.ipynb)
#
# **Contents**: 1 Two coins · 2 A number for how different · 3 The conjugate · 4 A bound that can be reached · 5 The gallery · 6 From tables to a network · 7 Which way must it go? · 8 Then why eight?

# %% tags=["parameters", "fold"]
MODE = "quick"  # digits in every mode; "laptop" and "paper" train longer
SEED = 0

# %% [markdown]
# (Folded: settings and imports.)

# %% tags=["fold"]
try:
    from fdiv import DIVERGENCES, digits, divergence, imbalance_limit
except ModuleNotFoundError as error:
    cure = "run  %pip install -e '..[notebooks]'  in a cell and restart the kernel, or start with  make lab"
    raise ModuleNotFoundError(f"this kernel has no {error.name}: {cure}") from None

import pandas as pd
import plotly.graph_objects as go
import torch
from torch import nn

from fdiv.course import (
    bars_figure,
    check_parameters,
    claim,
    curves_figure,
    explore,
    line_style,
    nb01 as exercises,
    panels_figure,
    predict,
    seed_everything,
    simplex_figure,
    with_slider,
)

check_parameters(MODE=MODE, SEED=SEED)
EPOCHS = 30 if MODE == "quick" else 120
torch.set_default_dtype(torch.float64)
titles = {divergence(n).title: n for n in DIVERGENCES}
names = {n: title for title, n in titles.items()}
first_two = ["tv", "kl"]

# %% [markdown]
# ## 1 Two coins
#
# One coin shows heads with probability $p$, the other with probability $q$. How different are they? Two classical answers, **total variation** (TV) and **Kullback and Leibler's divergence** (KL), are the heights of the two lines; the slider moves the second coin. **Find what the two lines agree on, and what they quarrel about.**


# %% tags=["fold"]
grid = torch.linspace(0.005, 0.995, 199)


def two_coins_figure(q=0.5, shown=first_two):
    P, Q = torch.stack([grid, 1 - grid], 1), torch.tensor([q, 1 - q])
    curves = {n: divergence(n)(P, Q.expand_as(P), dim=1) for n in shown}
    figure = curves_figure(
        curves,
        grid,
        names=names,
        title=f"How different from a coin with q = {q:g}?",
        x_title="p, the other coin",
        y_title="divergence",
        y_range=(0, 3),
    )
    return figure


with_slider(two_coins_figure, q=[0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])

# %% [markdown]
# They agree that a coin does not differ from itself: both are zero at $p = q$ and nowhere else. They quarrel about rare events: move $q$ to 0.05, and KL calls a coin with $p = 0.9$ enormously different, while total variation never exceeds 1. (And one has a corner where the other has a bowl. That will matter.)
#
# ## 2 A number for how different
#
# Both come from one recipe. Take two distributions $P$ and $Q$ over the same outcomes $z$. The **ratio**
#
# $$r(z) = \frac{p(z)}{q(z)}$$
#
# says how much more often $P$ produces $z$ than $Q$ does; it is 1 everywhere exactly when the two agree. A convex function $f$ with $f(1)=0$, the *generator*, turns all those ratios into one number, the **f-divergence**
#
# $$D_f(P\|Q) = \sum_z q(z)\, f\big(r(z)\big).$$
#
# Total variation has $f(r) = \tfrac12|r - 1|$, KL has $f(r) = r\log r$. Two lines each:


# %%
def tv_by_hand(p, q):
    r = p / q
    return (q * (r - 1).abs() / 2).sum()


def kl_by_hand(p, q):
    r = p / q
    return (q * r * r.log()).sum()


# %% [markdown]
# The package has the same, and we use it from here on.

# %%
p, q = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.3, 0.3, 0.4])
tv, kl = divergence("tv"), divergence("kl")
torch.testing.assert_close(tv_by_hand(p, q), tv(p, q))
torch.testing.assert_close(kl_by_hand(p, q), kl(p, q))
print(f"TV {tv(p, q):.6f}   KL {kl(p, q):.6f}")

# %% [markdown]
# Look at KL's generator for a moment: $r\log r$ is *negative* for ratios below 1. Can the divergence come out negative? It cannot: under $Q$ the ratios average to $\sum q\,r = \sum p = 1$, and for a convex $f$ the average of $f(r)$ is at least $f$ at the average, $f(1) = 0$. That is Jensen's inequality.
#
# There is another way to see it. Here are the same $P$ and $Q$, and three generators that differ by a multiple of $r - 1$; the legend tells what each makes of them.

# %% tags=["fold"]
tilted = {c: lambda r, c=c: kl.f(r) + c * (r - 1) for c in (-1.0, -0.5, 0.0)}
ratios = torch.linspace(0.02, 3, 150)
figure = go.Figure()
colours = ("#0072B2", "#009E73", "#E69F00")
for (c, f), colour in zip(tilted.items(), colours, strict=True):
    value = (q * f(p / q)).sum()
    label = f"c = {c:g}: D = {value:.4f}"
    figure.add_scatter(x=ratios, y=f(ratios), name=label, line_color=colour)
title = "f(r) = r log r + c (r − 1): three curves, one divergence"
figure.update_layout(title=title, xaxis_title="r = p / q", yaxis_title="f(r)")

# %% [markdown]
# **Adding $c\,(r-1)$ to a generator changes no divergence**, since $\sum q\,c\,(r-1) = c\,(\sum p - \sum q) = 0$. So the dip below zero is an accident of how $f$ is written: with $c = -1$ the same KL has a generator that is never negative. **Every $D_f$ is at least zero, and zero when $P = Q$.**
#
# A corner case to remember: an outcome that $Q$ never produces. KL charges infinitely much for it; total variation charges half of its probability.

# %%
never = torch.tensor([0.5, 0.5, 0.0])
print("KL", kl(p, never).item(), "  TV", round(tv(p, never).item(), 6))

# %% [markdown]
# ### Exercise 1 ★: Straighten a generator
#
# Write KL's generator in the form that has slope 0 at $r = 1$: choose the $c$ in $r\log r + c\,(r-1)$, and return the result for a tensor $r > 0$.


# %% tags=["exercise", "nbval-check-output"]
def flat_kl(r):
    raise NotImplementedError("your turn")


exercises.flat_kl(flat_kl)

# %% [markdown]
# <details><summary>Hint</summary>
#
# The slope of $r\log r$ is $1 + \log r$. What is it at $r = 1$, and which $c$ cancels it?
#
# </details>
# <details><summary>Solution</summary>
#
# The slope at 1 is 1, so $c = -1$.
#
# ```python
# def flat_kl(r):
#     return r * r.log() - (r - 1)
# ```
#
# </details>

# %% [markdown]
# ## 3 The conjugate
#
# The recipe needs the ratio $p/q$, and nobody knows it for images and labels. Convexity offers a way around. Take a line through the origin with slope $u$, and ask by how much it rises above $f$ at most:
#
# $$f^*(u) = \max_{r \ge 0} \,\{\,u\,r - f(r)\,\}.$$
#
# That largest gap is the **conjugate** of $f$. Lower the line by it, and it just touches $f$ from below. Move the slope, and **watch the red gap**.

# %% tags=["fold"]
line = torch.linspace(0, 4, 401)


def largest_gap(d, u):
    """f*(u) over the ratios r >= 0: below the slope that f has at 0, the best r is 0."""
    u = torch.as_tensor(u, dtype=torch.float64)
    return d.conjugate(u.clamp(min=d.derivative(torch.zeros(())).item())).item()


def conjugate_figure(name="kl", u=1.5):
    d, gap = divergence(name), largest_gap(divergence(name), u)
    at = line[(u * line - d.f(line)).argmax()].item()
    grey, red = {"color": "#888888", "dash": "dot"}, {"color": "#D40000", "width": 4}
    figure = go.Figure()
    figure.add_scatter(x=line, y=d.f(line), name="f(r)", line=line_style(name))
    figure.add_scatter(x=[0, 4], y=[0, 4 * u], name="slope u", line_color="#444444")
    if gap < torch.inf:
        figure.add_scatter(x=[0, 4], y=[-gap, 4 * u - gap], name="lowered", line=grey)
        ends = [at * u - gap, at * u]
        figure.add_scatter(x=[at, at], y=ends, name="the gap", line=red)
    said = f"{gap:.3f}" if gap < torch.inf else "∞, it grows without end"
    figure.update_layout(title=f"{d.title}, u = {u:g}: the largest gap is {said}")
    figure.update_layout(xaxis_title="r", yaxis_title="height", showlegend=True)
    return figure.update_traces(mode="lines").update_yaxes(range=(-2.5, 6))


# %% [markdown]
# KL first:

# %%
with_slider(conjugate_figure, u=[-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0])

# %% [markdown]
# The lowered line touches $f$ where both have the same slope, $f'(r) = u$. For KL that place is easy to find: $u = 1 + \log r$ gives $r = e^{u-1}$, and the gap there is
#
# $$f^*(u) = u\,e^{u-1} - e^{u-1}(u-1) = e^{u-1}.$$
#
# Now total variation. Its $f$ has only two slopes, $-\tfrac12$ and $\tfrac12$, and a corner at $r = 1$ where every line with a slope in between can rest. So for $-\tfrac12 \le u \le \tfrac12$ the gap is at $r = 1$, and $f^*(u) = u$. A steeper line, $u > \tfrac12$, runs away from $f$: $f^*(u) = \infty$. One case is left.

# %% tags=["predict"]
predict(
    "Total variation, and a line that falls steeply: u = -2. By how much does it rise above f at most?",
    [
        "It runs away again: infinity",
        "-1/2: the best place is r = 0",
        "-2: the formula $f^*(u) = u$ goes on",
    ],
    answer=1,
    why=[
        "It would, towards negative r. But r is a ratio of probabilities and never negative, and to the right a falling line only falls further below f.",
        "At r = 0 the line is at 0 and f at 1/2. Everywhere to the right the line is lower and loses more. So the gap is -f(0) = -1/2, for every u below -1/2.",
        "That would be the gap at r = 1: -2 - 0. But at r = 0 it is -1/2, which is more.",
    ],
)

# %% [markdown]
# Move the slope beyond both ends:


# %%
def tv_conjugate_figure(u=-2.0):
    return conjugate_figure("tv", u)


with_slider(tv_conjugate_figure, u=[-2.0, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0])

# %% [markdown]
# So over ratios $r \ge 0$ total variation has $f^*(u) = \max(u, -\tfrac12)$ up to $u = \tfrac12$. The paper lets $f$ go on for negative $r$, where no ratio ever is; then the line does run away, and $f^*(u) = \infty$ below $-\tfrac12$ as well. Nothing depends on the choice, since a slope below $-\tfrac12$ never gains anything, so we follow the paper. The slopes with a finite conjugate are its **domain**: $[-\tfrac12, \tfrac12]$ for total variation, all of them for KL.
#
# A derivation deserves a check by brute force (folded).

# %% tags=["fold"]
slopes, many_r = torch.linspace(-2, 2, 9), torch.logspace(-5, 1, 300_001)
brute = (slopes[:, None] * many_r - kl.f(many_r)).max(dim=1).values
torch.testing.assert_close(brute, torch.exp(slopes - 1), rtol=1e-8, atol=1e-8)
torch.testing.assert_close(brute, kl.conjugate(slopes), rtol=1e-8, atol=1e-8)
fall = (slopes[:4, None] * many_r - tv.f(many_r)).max(dim=1).values
torch.testing.assert_close(fall, torch.full((4,), -0.5), rtol=0, atol=1e-4)

# %% [markdown]
# Both generators, and beside them their conjugates:

# %% tags=["fold"]
u = torch.linspace(-2, 1.4, 341)


def generators_figure(shown=tuple(DIVERGENCES), highlight=None):
    f = {n: divergence(n).f(ratios) for n in shown}
    f_star = {n: divergence(n).conjugate(u) for n in shown}
    panels = [("generator f", "r = p / q", ratios, f), ("conjugate f*", "u", u, f_star)]
    title = "Generators and their conjugates"
    return panels_figure(panels, title=title, y_range=(-2, 3), highlight=highlight)


generators_figure(first_two)

# %% [markdown]
# ### Exercise 2 ★★: A conjugate of your own
#
# Pearson's $\chi^2$ has $f(r) = (r-1)^2$. Derive its conjugate over $r \ge 0$, and write it as a function of a tensor $u$, for every $u$.


# %% tags=["exercise", "nbval-check-output"]
def pearson_conjugate(u):
    raise NotImplementedError("your turn")


exercises.pearson_conjugate(pearson_conjugate)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# $f'(r) = 2(r-1)$. Solve $u = f'(r)$ for $r$, and put that $r$ into $u\,r - f(r)$.
#
# </details>
# <details><summary>Hint 2</summary>
#
# For which $u$ would that $r$ be negative? There the best $r$ is 0, as with total variation below $-\tfrac12$. For a tensor, `torch.where(u < -2, ..., ...)` tells the two apart.
#
# </details>
# <details><summary>Solution</summary>
#
# $r = 1 + u/2$ gives $u + u^2/2 - u^2/4 = u + u^2/4$. Below $u = -2$ that $r$ is negative, so the best is $r = 0$ with the gap $-f(0) = -1$.
#
# ```python
# def pearson_conjugate(u):
#     return torch.where(u < -2, -1.0, u + u**2 / 4)
# ```
#
# </details>

# %% [markdown]
# ## 4 A bound that can be reached
#
# By its definition $f^*(u) \ge u\,r - f(r)$ for every $u$ and $r$. Turn it round: $f(r) \ge u\,r - f^*(u)$, the **Fenchel-Young inequality**, with equality where the line with slope $u$ touches $f$ at $r$. That is $u = f'(r)$; at a corner, any slope that fits in it.
#
# Now let the slope be *any* function $g(z)$ of the outcome, put $r = p/q$, multiply by $q$ and sum:
#
# $$D_f(P\|Q) \;\ge\; \mathrm{VD}_f(g) := \mathbb E_P[g] - \mathbb E_Q[f^*(g)],$$
#
# with equality at $g^* = f'(p/q)$. $\mathrm{VD}$ is short for *variational difference*. **Look at what happened: the ratio is gone.** The right side consists of two averages, one over samples from $P$ and one over samples from $Q$. Whoever makes it as large as possible has measured $D_f$ without knowing a single probability.
#
# Reach it by hand. A classifier $h$ is right 90 % of the time on two balanced classes. $P$ is the joint table of its answer and the label, $Q$ the table they would have if the two had nothing to do with each other:

# %%
joint = torch.tensor([[0.45, 0.05], [0.05, 0.45]])
product = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)
right = torch.eye(2, dtype=torch.bool)


def variational_difference(d, g):
    return (joint * g).sum() - (product * d.conjugate(g)).sum()


# %% [markdown]
# By symmetry $g$ has two values to choose, one where $h$ is right and one where it is wrong. Drag both until the bar reaches the dashed line. A $g$ outside the domain is worth $-\infty$ and shows no bar.


# %% tags=["interactive", "fold"]
def reach_figure(chosen_divergence="tv", where_right=0.2, where_wrong=0.0):
    name = chosen_divergence
    d, g = divergence(name), torch.where(right, where_right, where_wrong)
    value, target = variational_difference(d, g).item(), d(joint, product).item()
    note = " · reached!" if target - value < 0.001 else ""
    note = " · outside the domain of f*" if value == -torch.inf else note
    figure = bars_figure({name: value}, title="", x_title="VD(g)")
    figure.update_traces(text=None)  # the title says it
    figure.add_vline(x=target, line_dash="dash", annotation_text=f"D = {target:.3f}")
    figure.update_layout(title=f"VD(g) = {value:.3f}{note}", height=240, margin_t=80)
    return figure.update_xaxes(range=(-1.6, 0.7))


values = {"where_right": (-1.0, 2.0, 0.05), "where_wrong": (-2.0, 1.0, 0.05)}
page = {
    "where_right": [-1.0, -0.5, 0.0, 0.2, 0.5, 1.0, 1.6, 2.0],
    "where_wrong": [-2.0, -1.0, -0.6, -0.5, 0.0, 0.5, 1.0],
}
both = {names[n]: n for n in first_two}
explore(reach_figure, page=page, chosen_divergence=both, **values)

# %% [markdown]
# The ratio is $0.45/0.25 = 1.8$ where $h$ is right and $0.05/0.25 = 0.2$ where it is wrong. So $g^*$ is $1+\log 1.8 \approx 1.59$ and $1+\log 0.2 \approx -0.61$ for KL, and $+\tfrac12$ and $-\tfrac12$ for total variation.
#
# Now a walk: start at a constant $g$, pass $g^*$ at $t = 1$, and go on in the same direction.

# %% tags=["predict"]
predict(
    "We walk past the best g, in the same direction. What becomes of the bound for total variation?",
    [
        "It drops to minus infinity at once",
        "It keeps rising: more of a good thing",
        "It falls again, gently, as KL's does",
    ],
    answer=0,
    why=[
        "At $g^* = \\pm\\tfrac12$ it already stands on the edge of its domain. One step further $f^*$ is infinite.",
        "No g at all can lift the bound above D: that is what the inequality says.",
        "KL's does. But total variation has its best g at the very edge of its domain, ±1/2.",
    ],
)

# %% [markdown]
# The share of $D$ that is reached along the walk:

# %% tags=["fold"]
steps = torch.linspace(0, 1.6, 81)


def share_reached(d):
    best = d.derivative(joint / product)
    start = d.derivative(torch.ones_like(best))
    bounds = [variational_difference(d, start + t * (best - start)) for t in steps]
    return torch.stack(bounds) / d(joint, product)


curves_figure(
    {n: share_reached(divergence(n)) for n in first_two},
    steps,
    names=names,
    title="The bound closes as g approaches g*",
    x_title="t (0: constant g, 1: the optimal g*)",
    y_title="VD(g) / D",
    y_range=(-0.1, 1.1),
)

# %% [markdown]
# Both rise to exactly 1 at $t = 1$, and neither goes above. Total variation gets there in a straight line and falls off the edge.
#
# ### Exercise 3 ★: Who makes the bound largest?
#
# For total variation $f^*(u) = u$ on $[-\tfrac12, \tfrac12]$, so the bound is $\sum_z g(z)\,(p(z) - q(z))$. Write the $g$ that makes it largest.


# %% tags=["exercise", "nbval-check-output"]
def best_g(p, q):
    raise NotImplementedError("your turn")


exercises.total_variation_witness(best_g)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Each outcome contributes $g(z)$ times a number. When that number is positive, what is the largest $g(z)$ allowed?
#
# </details>
# <details><summary>Solution</summary>
#
# Where $p > q$ take $g = \tfrac12$, where $p < q$ take $-\tfrac12$: the sum becomes $\tfrac12\sum_z|p-q|$, which is $D_{TV}$.
#
# ```python
# def best_g(p, q):
#     return torch.sign(p - q) / 2
# ```
#
# </details>

# %% [markdown]
# ## 5 The gallery
#
# You know the whole machine now: a generator, its conjugate, the bound. Any convex $f$ with $f(1) = 0$ can be put into it, and the paper studies eight. Here are the other six beside the two you have met; click a name to hide a line.

# %%
generators_figure()

# %% [markdown]
# They differ at the ends. Near $r = 0$ (an outcome that $P$ avoids) reverse KL, Neyman and Jeffrey shoot up without limit; for large $r$ (an outcome that $Q$ avoids) Pearson grows like $r^2$, KL and Jeffrey like $r\log r$, the other five at most like $r$. **Where $f$ is steep, a few wild outcomes dominate the sum.** Pick one. A line on the right that stops is a domain with an edge.


# %% tags=["interactive", "fold"]
def one_generator_figure(chosen_divergence="js"):
    d = divergence(chosen_divergence)
    title = f"{d.title}: f* is finite for {d.domain}"
    return generators_figure(highlight=chosen_divergence).update_layout(title=title)


explore(one_generator_figure, chosen_divergence=titles)

# %% [markdown]
# And yet. Back to the two coins, with all eight, and each divergence divided by one fixed number of its own, the curvature $f''(1)$ of its generator (total variation has a corner there and keeps its size).

# %% tags=["predict"]
predict(
    "Each of the seven smooth divergences is divided by its own curvature f''(1). Near p = q, how far apart are the seven lines?",
    [
        "They spread: the formulas have little in common",
        "They lie on one another, and look like a single line",
        "They pair up: KL with reverse KL, Pearson with Neyman",
    ],
    answer=1,
    why=[
        "At the ends they do. But where two coins are nearly alike, only the shape of f around r = 1 counts.",
        "Near r = 1 every smooth f is a parabola, $f(r) \\approx \\tfrac12 f''(1)\\,(r-1)^2$, once its slope there is taken out; and a slope changes no divergence.",
        "These pairs exchange P and Q, and the pairs differ far away. Near p = q even that disappears.",
    ],
)

# %% [markdown]
# Zoom in on the middle, or hide lines by a click:

# %% tags=["fold"]
one = torch.ones((), requires_grad=True)
curvature = {
    n: torch.autograd.grad(divergence(n).slope(one), one)[0].item() or 1.0
    for n in DIVERGENCES
}
P, half = torch.stack([grid, 1 - grid], 1), torch.tensor([0.5, 0.5])
scaled = {
    n: divergence(n)(P, half.expand_as(P), dim=1) / curvature[n] for n in DIVERGENCES
}
curves_figure(
    scaled,
    grid,
    names=names,
    title="Eight divergences from a fair coin, each in its own unit",
    x_title="p",
    y_title="D / f''(1)",
    y_range=(0, 0.6),
)

# %% [markdown]
# **Near $P = Q$ all smooth divergences are one parabola**, $\tfrac12 f''(1)\sum_z (p-q)^2/q$, which is Pearson's $\chi^2$ up to a factor. When labels are very noisy, prediction and label are nearly independent: $P$ is close to $Q$. Keep that in mind.
#
# Three outcomes make a triangle: each point is a distribution, each corner a sure outcome. **Compare the shape of the contours** of total variation (straight, a hexagon) and of Pearson (ellipses). Values above 2 are drawn as 2.


# %% tags=["interactive", "fold"]
def triangle_figure(chosen_divergence="tv"):
    d, third = divergence(chosen_divergence), torch.tensor([0.3, 0.3, 0.4])
    title = f"{d.title} of every P from Q = (0.3, 0.3, 0.4)"
    return simplex_figure(
        lambda p: d(p, third.expand_as(p), dim=1).clamp(max=2), third, title=title
    )


explore(triangle_figure, chosen_divergence=titles)

# %% [markdown]
# The other six conjugates follow as your Pearson did, except for one: Jeffrey's equation $u = 1 + \log r - 1/r$ has no elementary solution, and $f^*$ needs Lambert's $W$.
#
# ## 6 From tables to a network
#
# A network has no table of ratios; it has a softmax. The paper's choice (§5, Algorithm 1) is to fix the shape of $g$ in advance. Write $v = h_x[y]$ for **the probability that the softmax gives to the label $y$**, and feed it through an increasing function $g_f$, the *activation*, that maps into the domain of $f^*$:
#
# $$\text{maximise}\quad \mathbb E_{(x,y)}\; g_f(h_x[y]) \;-\; \mathbb E_{x}\,\mathbb E_{y'}\; f^*\!\big(g_f(h_x[y'])\big).$$
#
# The first average runs over examples with their own labels (the joint table), the second over examples with the labels of others (the product table). For total variation $g_f(v) = \tfrac12\tanh v$ and $f^*(u) = u$: **this is the formula of notebook 00.** The $\tanh$ is there to stay between $-\tfrac12$ and $\tfrac12$.
#
# Here are the eight activations, and beside them the optimal $g^*$. Both increase, and both stay inside the domain of $f^*$.

# %% tags=["fold"]
scores = torch.linspace(-3, 3, 121)
fixed = {n: divergence(n).activation(scores) for n in DIVERGENCES}
optimal = {n: divergence(n).derivative(ratios) for n in DIVERGENCES}
panels = [
    ("fixed: g<sub>f</sub>", "v", scores, fixed),
    ("optimal: g*", "r", ratios, optimal),
]
panels_figure(panels, title="Two increasing functions into one domain", y_range=(-3, 3))

# %% [markdown]
# But a probability lives between 0 and 1, so training only ever sees that small piece of $g_f$. Stretch each piece to run from 0 to 1.

# %% tags=["predict"]
predict(
    "On probabilities v from 0 to 1, each stretched to the same height: how different are the eight activations?",
    [
        "Very: one is a tanh, another one an exponential, a third a logarithm",
        "Two families: those with a bounded domain bend, the others are straight",
        "Hardly: drawn like that, all eight are nearly straight lines",
    ],
    answer=2,
    why=[
        "Over all real numbers they are. On a piece of length one even an exponential looks rather straight.",
        "The three straight ones are indeed those without an edge. But the others bend only a little.",
        "None strays from the diagonal by more than an eighth, and neither does $f^*(g_f)$. In training the eight differ far less than their formulas.",
    ],
)

# %% [markdown]
# What training sees of them:

# %% tags=["fold"]
unit = torch.linspace(0, 1, 101)


def stretched(function):
    y = function(unit)
    return (y - y[0]) / (y[-1] - y[0])


g_part = {n: stretched(divergence(n).activation) for n in DIVERGENCES}
dual_part = {n: stretched(divergence(n).conjugate_of_activation) for n in DIVERGENCES}
panels = [
    ("g<sub>f</sub>(v), stretched", "v = softmax probability", unit, g_part),
    ("f*(g<sub>f</sub>(v)), stretched", "v = softmax probability", unit, dual_part),
]
panels_figure(panels, title="What training sees of the eight divergences")

# %% [markdown]
# With straight lines in their place, the objective is, up to constants,
#
# $$v\,[\text{my label}] \;-\; \rho \; v\,[\text{a random label}],$$
#
# where $v[\cdot]$ is the probability that the softmax gives to a label, and $\rho$ is the rise of $f^*(g_f)$ divided by the rise of $g_f$ between $v = 0$ and $v = 1$. **In training the divergences differ mainly by one number.** For total variation it is 1; section 8 shows all eight.
#
# ## 7 Which way must it go?
#
# We said $g_f$ must increase. Squared Hellinger uses $1 - e^{-v}$. Suppose somebody writes $1 - e^{v}$ instead: it takes the very same values, only from right to left. Train with both, on **clean** digits. The objective is the formula of section 6, and the rest is an ordinary loop.

# %%
data = digits()
images, labels = data.train_images, data.train_labels
label_prior = torch.bincount(labels, minlength=10).float() / len(labels)


def train(g, dual_of_g):
    seed_everything(SEED)
    layers = nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)
    model = nn.Sequential(nn.Flatten(), *layers).float()
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(labels)).split(64):
            v = model(images[batch]).softmax(dim=1)
            own_label = g(v).gather(1, labels[batch, None]).mean()
            random_label = (dual_of_g(v) @ label_prior).mean()
            optimiser.zero_grad()
            (random_label - own_label).backward()
            optimiser.step()
    with torch.no_grad():
        predicted = model(data.test_images).argmax(dim=1)
    return (predicted == data.test_labels).double().mean().item()


# %% [markdown]
# All eight with an increasing activation, and squared Hellinger a second time with the decreasing one. Nine short trainings.

# %% tags=["training"]
accuracy = {}
for name in DIVERGENCES:
    row = divergence(name)
    accuracy[name] = train(row.activation, row.conjugate_of_activation)
hellinger = divergence("squared-hellinger")
wrong_way = train(
    lambda v: hellinger.activation(-v), lambda v: hellinger.conjugate_of_activation(-v)
)

# %% tags=["predict"]
predict(
    "Ten classes, clean labels, and an activation that decreases. What accuracy does it reach on test digits?",
    [
        "About 0 %: it answers anything but the truth",
        "About 10 %: it learns nothing and guesses",
        "About 97 %: the bound takes the same values either way",
    ],
    answer=0,
    why=[
        "It learns the digits perfectly well, and then avoids the right answer: an anti-classifier. The value of the objective gives no warning.",
        "That would be chance. To be worse than chance it must know the digits.",
        "It does take the same values, if v may be any number. But a softmax reads the class off the largest v, and that is now the class it likes least.",
    ],
)

# %% [markdown]
# The bars are accuracies on the clean test digits:

# %% tags=["nbval-ignore-output", "fold"]
labels_of = [*titles, "Hellinger, decreasing"]
bars = [*accuracy.values(), wrong_way]
colours = [line_style(n)["color"] for n in DIVERGENCES] + ["#D40000"]
figure = go.Figure(go.Bar(y=labels_of, x=bars, orientation="h", marker_color=colours))
figure.update_traces(text=[f"{a:.1%}" for a in bars], textposition="outside")
title = "Accuracy on clean test digits"
figure.update_layout(title=title, height=440, margin_l=190, showlegend=False)
figure.update_xaxes(tickformat=".0%", range=(0, 1.15)).update_yaxes(
    autorange="reversed"
)

# %% [markdown]
# Two things to see. The eight increasing ones are equal, within what a seed does. And the decreasing one is not at chance: it is an **anti-classifier**. Check which way an activation goes before you train with it. (It did happen: [notebook 11](11_reading_the_paper_critically.ipynb).)
#
# ## 8 Then why eight?
#
# On balanced, clean digits it made no difference which divergence we took. Here is what sets them apart, from their formulas alone.

# %% tags=["nbval-check-output", "fold"]
ends = torch.tensor([0.0, 1.0])
rows = []
for name in DIVERGENCES:
    row = divergence(name)
    rho = row.conjugate_of_activation(ends).diff() / row.activation(ends).diff()
    limit = imbalance_limit(name)
    costs = [f"{c:.3g}".replace("inf", "∞") for c in (row.at_zero, row.domain.high)]
    share = "any" if limit >= 1 else f"{limit:.3f}"
    rows.append([*costs, f"{rho.item():.3f}", share])
columns = ["f(0)", "slope of f at ∞", "ρ", "largest majority share"]
table = pd.DataFrame(rows, columns=columns, index=list(titles))
table

# %% [markdown]
# - **Imbalance.** If all labels are equally frequent, the probability of a random label is the same for every prediction, $\rho$ drops out, and the straight-line objective is the mean absolute error for *all eight* (Ghosh et al., 2017). If one label is frequent, $\rho$ is the price of saying it. The last column is the largest share of one class, out of two, at which the objective still wants that class to be predicted at all, without any noise: only total variation and KL have no such limit.
# - **Ends.** With a free score in place of a probability, $g$ can go where it likes, and then the ends decide: where $f(0)$ or the slope at infinity is $\infty$, a single rare outcome can dominate.
# - **Noise.** Wrong labels change $P$ and $Q$. Which divergences still rank classifiers rightly then, and with what guarantee? That needs the noise written down first, and is the question of the next two notebooks, and of notebook 12, where each divergence gets its exact promise.
#
# So: on probabilities, with balanced labels, take the one you like. Otherwise, know which one you took.
#
# ### Exercise 4 ★★★: A ninth divergence
#
# *Triangular discrimination* is $\sum_z (p-q)^2/(p+q)$. Return it as a `Divergence` with the name `"triangular"`; start with `from fdiv.theory.divergences import Divergence, Interval`. The fields: `generator` $f$, `slope` $f'$, `at_zero` $= f(0)$, `dual` $f^*$ (over $r \ge 0$), `domain`, an increasing `activation` into it, and `conjugate_of_activation` $= f^*(g_f(v))$. The checker goes through them in this order, so fill in one after the other.


# %% tags=["exercise", "nbval-check-output"]
def triangular():
    raise NotImplementedError("your turn")


exercises.triangular(triangular)

# %% [markdown]
# <details><summary>Hint 1</summary>
#
# The generator: divide by $q$ and write $r$ for $p/q$: $f(r) = (r-1)^2/(r+1)$.
#
# </details>
# <details><summary>Hint 2</summary>
#
# The slope: with $(r-1) = (r+1) - 2$ you get $f(r) = r - 3 + 4/(r+1)$, so $f'(r) = 1 - 4/(r+1)^2$. It starts at $f'(0) = -3$ and ends at 1.
#
# </details>
# <details><summary>Hint 3</summary>
#
# The conjugate: solve $u = f'(r)$. With $w = \sqrt{1-u}$ it is $r = 2/w - 1$. Put it into $u\,r - f(r)$ and simplify. Below $u = -3$ the best $r$ is 0, as for total variation below $-\tfrac12$; there $w$ stays at 2.
#
# </details>
# <details><summary>Solution</summary>
#
# $u\,r - f(r) = (1-w^2)(2/w - 1) - (2/w - 4 + 2w) = (1-w)(3-w)$.
#
# ```python
# from fdiv.theory.divergences import Divergence, Interval
#
#
# def triangular():
#     def dual(u):
#         w = torch.sqrt(1 - u).clamp(max=2)
#         return (1 - w) * (3 - w)
#
#     return Divergence(
#         name="triangular",
#         title="Triangular discrimination",
#         generator=lambda r: (r - 1) ** 2 / (r + 1),
#         slope=lambda r: 1 - 4 / (r + 1) ** 2,
#         at_zero=1.0,
#         dual=dual,
#         domain=Interval(high=1.0, high_closed=True),
#         activation=lambda v: 1 - torch.exp(-v),
#         conjugate_of_activation=lambda v: dual(1 - torch.exp(-v)),
#     )
# ```
#
# </details>

# %% [markdown]
# ## Claims checked
#
# The mathematics, exactly, for all eight where the sentence says so.

# %% tags=["claim", "nbval-check-output", "fold"]
exact = {"rtol": 1e-12, "atol": 1e-12}
generator = torch.Generator().manual_seed(SEED)
tables = torch.rand(2, 1000, 5, generator=generator) + 0.01
tables = tables / tables.sum(-1, keepdim=True)
values_of = {n: divergence(n)(*tables, dim=1) for n in DIVERGENCES}
claim(
    "on 1000 random pairs of distributions no divergence of the eight is negative",
    all((value >= 0).all() for value in values_of.values()),
)
shifted = {
    n: (tables[1] * (divergence(n).f(r) + 0.7 * (r - 1))).sum(1)
    for r in [tables[0] / tables[1]]
    for n in DIVERGENCES
}
claim(
    "adding 0.7 (r - 1) to a generator changes none of them",
    all(torch.allclose(shifted[n], values_of[n], **exact) for n in DIVERGENCES),
)
walked = torch.stack([share_reached(divergence(n)) for n in DIVERGENCES])
claim(
    "along the walk the bound is reached at g* and exceeded nowhere, for all eight",
    torch.allclose(walked[:, steps.sub(1).abs().argmin()], torch.ones(8), **exact)
    and bool((walked <= 1 + 1e-12).all()),
)
claim(
    "past g* total variation's bound is minus infinity, KL's is not",
    share_reached(tv)[-1] == -torch.inf and share_reached(kl)[-1] > 0,
)
near = (grid - 0.5).abs() < 0.02
smooth = torch.stack([scaled[n][near] for n in DIVERGENCES if n != "tv"])
pearson_there = scaled["pearson"][near]
claim(
    "within 0.02 of a fair coin the seven smooth ones, in their own units, agree to 1 %",
    ((smooth - pearson_there).abs() <= 0.01 * pearson_there + 1e-12).all(),
)

# %% [markdown]
# What training sees, and the trainings, with margins.

# %% tags=["claim", "nbval-check-output", "fold"]
strayed = max(
    (part[n] - unit).abs().max() for n in DIVERGENCES for part in (g_part, dual_part)
)
claim(
    "on probabilities no g_f and no f*(g_f) strays from a line by over an eighth",
    strayed < 1 / 8,
)
claim("total variation's ρ is 1", table.loc["Total variation", "ρ"] == "1.000")
claim(
    "only total variation and KL tolerate any imbalance",
    set(table.index[table["largest majority share"] == "any"])
    == {"Total variation", "KL"},
)
claim(
    "with an increasing g_f all eight exceed 90 %, and lie within 5 points",
    min(accuracy.values()) > 0.90
    and max(accuracy.values()) - min(accuracy.values()) < 0.05,
)
claim("with a decreasing one squared Hellinger stays under 5 %", wrong_way < 0.05)

# %% [markdown]
# ## Summary
# - $D_f$ averages a convex function of the ratio $r = p/q$; it is never negative, and adding $c\,(r-1)$ to $f$ changes nothing.
# - The conjugate $f^*(u)$ is the largest gap between the line $u\,r$ and $f$. With it the ratio disappears: $D_f = \max_g \mathbb E_P[g] - \mathbb E_Q[f^*(g)]$.
# - Training fixes $g = g_f(h_x[y])$, which must increase and stay in the domain of $f^*$.
# - On probabilities every $g_f$ is almost a straight line, so in training the divergences differ mainly by one number, $\rho$. For total variation it is 1.
#
# ## Further reading
# - S. Nowozin, B. Cseke and R. Tomioka, *f-GAN*, NeurIPS 2016: where training through $f^*$ and an output activation comes from.
# - X. Nguyen, M. Wainwright and M. Jordan, *Estimating divergence functionals and the likelihood ratio by convex risk minimization*, IEEE Trans. Inf. Theory 2010: the variational form.
# - A. Ghosh, H. Kumar and P. Sastry, *Robust Loss Functions under Label Noise for Deep Neural Networks*, AAAI 2017: the mean absolute error, and why it resists.
# - Y. Polyanskiy and Y. Wu, *Information Theory: From Coding to Learning*, chapter 7: every property of f-divergences used here.
#
# ## To be continued
#
# We can measure how much a prediction has to do with a label. But which label? The one we have is noisy. Before we can say what noise does to $D_f$, we must be able to say what noise *is*, and some of it is far more dangerous than its rate suggests. [Notebook 02](02_noise_models.ipynb) lets you make it by hand.
