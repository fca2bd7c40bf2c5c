# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 · Divergences and conjugates
#
# **Why.** The whole paper is one objective built from one convex function $f$. You will build it here from nothing, for eight choices of $f$, and see what a single wrong sign does to a classifier.
#
# Paper: §2 with Table 1, and the full table in the appendix · Time: 30 min to read, 30 s to run (quick) · Needs: [00](00_start_here.ipynb)
#
# **You will be able to**
# - compute $D_f(P\|Q)$ from its definition, and say what each $f$ looks at
# - derive a convex conjugate $f^*$, and see it in a picture
# - turn a divergence into something a network can maximise: $\mathbb E_P[g] - \mathbb E_Q[f^*(g)]$
# - explain $g^*$, $g_f$ and $v$, and why the robust divergences behave alike
# - recognise an activation with the wrong sign before you train with it
#
# **Contents**: 1 A number for how different · 2 Eight generators · 3 Drag two distributions · 4 The conjugate · 5 A bound that can be reached · 6 From g* to g_f · 7 The sign lesson · 8 The paper's table, checked · Claims checked · Exercises

# %% tags=["parameters"]
MODE = "quick"  # digits in every mode; "laptop" and "paper" train longer
SEED = 0

# %% [markdown]
# The imports. From the package we take the eight divergences, and functions that draw.

# %% tags=["fold"]
import math

import pandas as pd
import plotly.graph_objects as go
import torch
from scipy.special import lambertw
from torch import nn
from torch.testing import assert_close

from fdiv.course import (
    bars_figure,
    check_parameters,
    claim,
    curves_figure,
    explore,
    line_style,
    panels_figure,
    seed_everything,
    simplex_figure,
    with_slider,
)
from fdiv.course.exercises import nb01 as exercises
from fdiv.datasets import digits
from fdiv.theory import DIVERGENCES, Interval, divergence

check_parameters(MODE=MODE, SEED=SEED)
EPOCHS = 30 if MODE == "quick" else 120

# %% [markdown]
# ## 1 A number for how different
#
# Take two distributions over the same outcomes $z$. The ratio $p(z)/q(z)$ says how much more often $P$ produces $z$ than $Q$ does; it is 1 everywhere exactly when the two agree. A convex $f$ with $f(1)=0$ turns all those ratios into one number (the paper's definition, §2):
#
# $$D_f(P\|Q) = \sum_z q(z)\, f\!\left(\frac{p(z)}{q(z)}\right).$$
#
# Start with the divergence everybody knows, KL, whose generator is $f(v) = v\log v$. Two lines are enough.


# %%
def kl_by_hand(p, q):
    ratio = p / q
    return (q * ratio * ratio.log()).sum()


p = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
q = torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64)
print(f"{kl_by_hand(p, q):.6f}")

# %% [markdown]
# The package has the same thing with the corner cases taken care of. We compare once, and import from here on.

# %%
kl = divergence("kl")
assert_close(kl_by_hand(p, q), kl(p, q))
print(kl(p, q).item() > 0, kl(p, p).item() == 0)

# %% [markdown]
# Why does convexity matter? The average of $p/q$ under $Q$ is $\sum q\,(p/q) = 1$, so by Jensen's inequality $\mathbb E_Q f(p/q) \ge f(\mathbb E_Q\, p/q) = f(1) = 0$. **Every $D_f$ is non-negative, and zero when $P = Q$**, whatever the $f$.
#
# A corner case to remember: an outcome that $Q$ never produces. KL charges infinitely for it, total variation at most one half.

# %%
never = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64)
print("KL", kl(p, never).item(), "  TV", round(divergence("tv")(p, never).item(), 6))

# %% [markdown]
# ## 2 Eight generators
#
# The paper studies eight. Left, $f$ against the ratio $v = p/q$; right, its conjugate $f^*$, which section 4 derives. Click a name in the legend to hide a line.

# %%
v = torch.linspace(0.02, 3, 150, dtype=torch.float64)
u = torch.linspace(-2, 1.4, 150, dtype=torch.float64)


def generators_figure(highlight=None):
    f = {name: divergence(name).f(v) for name in DIVERGENCES}
    f_star = {name: divergence(name).conjugate(u) for name in DIVERGENCES}
    panels = [
        ("generator f", "v = p / q", v, f),
        ("conjugate f*", "u", u, f_star),
    ]
    title = "The eight generators and their conjugates"
    return panels_figure(panels, title=title, y_range=(-2, 3), highlight=highlight)


generators_figure()

# %% [markdown]
# All of them are zero at $v = 1$, and convex. They differ at the ends: near $v = 0$ (an outcome that $P$ avoids) reverse KL, Neyman and Jeffrey shoot up without limit; for large $v$ (an outcome that $Q$ avoids) Pearson grows like $v^2$, KL and Jeffrey like $v\log v$, and the other five at most linearly. **Bounded slope at the far end means that a few wild outcomes cannot dominate**: keep that in mind for wrong labels.
#
# In JupyterLab, pick one to see it alone. **Watch where its conjugate ends**: a line on the right that stops is a domain with an edge.


# %% tags=["interactive"]
def one_generator_figure(name="js"):
    d = divergence(name)
    title = f"{d.title}: f* is finite for {d.domain}"
    return generators_figure(highlight=name).update_layout(title=title)


titles = {divergence(n).title: n for n in DIVERGENCES}
explore(one_generator_figure, name=titles)

# %% [markdown]
# ## 3 Drag two distributions
#
# Two outcomes: $P = (p, 1-p)$ and $Q = (q, 1-q)$. Drag both and **watch which bars move most when one of the four probabilities gets small.**


# %% tags=["interactive"]
def two_point_figure(p=0.8, q=0.5):
    table_p, table_q = [p, 1 - p], [q, 1 - q]
    values = {name: divergence(name)(table_p, table_q).item() for name in DIVERGENCES}
    title = f"Two outcomes: P = ({p:g}, {1 - p:g}), Q = ({q:g}, {1 - q:g})"
    return bars_figure(values, title=title, x_title="D(P‖Q)")


explore(two_point_figure, p=(0.02, 0.98, 0.02), q=(0.02, 0.98, 0.02))

# %% [markdown]
# The same without a kernel: each line is one divergence as $p$ goes from 0 to 1, and the slider moves $q$.

# %%
grid = torch.linspace(0.01, 0.99, 99, dtype=torch.float64)


def divergence_curves_figure(q=0.5):
    P = torch.stack([grid, 1 - grid], 1)
    Q = torch.tensor([q, 1 - q], dtype=torch.float64).expand_as(P)
    curves = {name: divergence(name)(P, Q, dim=1) for name in DIVERGENCES}
    figure = curves_figure(
        curves,
        grid,
        names={name: divergence(name).title for name in DIVERGENCES},
        title=f"D(P‖Q) for Q = ({q:g}, {1 - q:g})",
        x_title="p",
        y_title="D(P‖Q)",
        y_range=(0, 1.5),
    )
    return figure


with_slider(divergence_curves_figure, q=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])

# %% [markdown]
# Every curve touches zero at $p = q$ and nowhere else. Total variation does so with a corner, the others with a smooth bowl: near $P = Q$ **all smooth divergences are the same parabola up to a factor**, $\tfrac12 f''(1)\sum (p-q)^2/q$. Hence no smooth one can differ much from Pearson's $\chi^2$ when $P$ and $Q$ are close, as they are when labels are very noisy. Notebook 03 comes back to this.
#
# Three outcomes make a triangle: each point is a distribution, each corner a sure outcome. **Compare the shape of the contours** of total variation (straight, a hexagon), Pearson (ellipses) and KL.


# %% tags=["interactive"]
def three_point_figure(name="pearson", q1=0.3, q2=0.3):
    q2 = min(q2, 0.98 - q1)
    q = torch.tensor([q1, q2, 1 - q1 - q2], dtype=torch.float64)
    d = divergence(name)
    title = f"{d.title} of every P from Q = ({q1:g}, {q2:g}, {1 - q1 - q2:.2g})"
    return simplex_figure(
        lambda p: d(p, q.expand_as(p), dim=1), q.tolist(), title=title
    )


explore(three_point_figure, name=titles, q1=(0.1, 0.8, 0.1), q2=(0.1, 0.8, 0.1))

# %% [markdown]
# And the triangle for all eight, without a kernel:


# %%
def triangle_figure(divergence="tv"):
    return three_point_figure(divergence)


with_slider(triangle_figure, divergence=DIVERGENCES)

# %% [markdown]
# ## 4 The conjugate
#
# The definition of $D_f$ needs the ratio $p/q$, and nobody knows it for images and labels. Convexity offers a way around. **A convex function is the upper envelope of its tangents**, so $f$ can be rebuilt from all lines that lie below it. The line with slope $u$ touches $f$ from below when it is lowered by exactly
#
# $$f^*(u) = \sup_v \,\{\,u v - f(v)\,\},$$
#
# the largest gap by which the line $uv$ rises above $f(v)$. That is all a conjugate is. Drag the slope, and **watch the red gap**.

# %%
lines = torch.linspace(0.02, 4, 200, dtype=torch.float64)


def conjugate_figure(name="kl", u=1.5):
    d = divergence(name)
    gap = d.conjugate(torch.tensor(u, dtype=torch.float64)).item()
    at = lines[(u * lines - d.f(lines)).argmax()].item()
    figure = go.Figure()
    figure.add_scatter(x=lines, y=d.f(lines), name="f(v)", line=line_style(name))
    figure.add_scatter(
        x=[0, 4], y=[0, 4 * u], name="the line u v", line_color="#444444"
    )
    dots = {"color": "#888888", "dash": "dot"}
    figure.add_scatter(x=[0, 4], y=[-gap, 4 * u - gap], name="tangent", line=dots)
    ends = [at * u - gap, at * u]
    red = {"color": "#D40000", "width": 4}
    figure.add_scatter(x=[at, at], y=ends, name="the gap f*(u)", line=red)
    title = f"{d.title}: slope u = {u:g}, largest gap f*(u) = {gap:.3f}"
    figure.update_layout(title=title, xaxis_title="v", yaxis_title="height")
    return figure.update_traces(mode="lines").update_yaxes(range=(-2, 6))


with_slider(conjugate_figure, u=[-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0])

# %% [markdown]
# The dotted tangent is the line lowered by the red gap: it touches $f$ at one point, where $f'(v) = u$. For KL that point is easy to find. Setting the derivative of $uv - v\log v$ to zero gives $u = 1 + \log v$, hence $v = e^{u-1}$, and the gap there is
#
# $$f^*(u) = u\,e^{u-1} - e^{u-1}(u-1) = e^{u-1}.$$
#
# In JupyterLab, try the others. With total variation, go past $u = \tfrac12$.


# %% tags=["interactive"]
def any_conjugate_figure(name="tv", u=0.3):
    return conjugate_figure(name, u)


explore(any_conjugate_figure, name=titles, u=(-2.0, 2.0, 0.1))

# %% [markdown]
# A derivation deserves a check. Here is the supremum taken by brute force, next to the formula and to the package.

# %%
slopes = torch.linspace(-2, 2, 9, dtype=torch.float64)
many_v = torch.logspace(-4, 1, 200_001, dtype=torch.float64)
brute = (slopes[:, None] * many_v - kl.f(many_v)).max(dim=1).values
assert_close(brute, torch.exp(slopes - 1), rtol=1e-8, atol=1e-8)
assert_close(brute, kl.conjugate(slopes), rtol=1e-8, atol=1e-8)

# %% [markdown]
# The other seven go the same way, and the tests of this project check each against a numerical supremum and against 50-digit arithmetic. One is special: Jeffrey's equation $u = 1 + \log v - 1/v$ has no elementary solution. The answer is Lambert's $W$, the inverse of $w e^w$: $f^*(u) = W + 1/W + u - 2$ with $W = W(e^{1-u})$. Typed as printed, $e^{1-u}$ overflows; the package solves for $\log v$ instead, by Newton's method, and is exact to the last digits from $u=-700$ to $u=700$.

# %%
far = torch.tensor([-700.0, -1.0, 0.0, 1.0, 700.0], dtype=torch.float64)
for u_far, dual in zip(far, divergence("jeffrey").conjugate(far), strict=True):
    print(f"f*({u_far:g}) = {dual:.12g}")

# %% [markdown]
# A conjugate has a **domain**: the slopes for which the gap is finite. Total variation never rises faster than $\tfrac12$, so a line steeper than that runs away from it, and $f^*(u) = \infty$ for $u > \tfrac12$.
#
# ## 5 A bound that can be reached
#
# By its definition $f^*(u) \ge uv - f(v)$ for every $u$ and $v$: the **Fenchel-Young inequality** $f(v) + f^*(u) \ge uv$, with equality exactly at $u = f'(v)$. Put $v = p/q$, let $u = g(z)$ be *any* function of the outcome, multiply by $q$ and sum:
#
# $$D_f(P\|Q) \;\ge\; \mathrm{VD}_f(g) := \mathbb E_P[g] - \mathbb E_Q[f^*(g)], \qquad \text{with equality at } g^* = f'(p/q).$$
#
# Look at what happened: **the ratio is gone.** The right side consists of two averages, and averages can be estimated from samples. This is the paper's variational form.
#
# Try to reach the bound by hand. A classifier that is right 90 % of the time on two balanced classes gives the joint table $P(h, Y)$ and the product table $Q$ below. By symmetry $g$ has two values to choose: one where $h = Y$, one where $h \ne Y$.

# %%
joint = torch.tensor([[0.45, 0.05], [0.05, 0.45]], dtype=torch.float64)
product = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)


def variational_difference(d, g):
    return (joint * g).sum() - (product * d.conjugate(g)).sum()


# %% [markdown]
# Drag the two values of $g$ until the bar reaches the dashed line. A $g$ outside the domain of $f^*$ has the value $-\infty$ and shows no bar.


# %% tags=["interactive"]
def reach_figure(name="pearson", when_equal=0.5, when_different=0.0):
    d = divergence(name)
    different = 1 - torch.eye(2, dtype=torch.float64)
    g = torch.where(different == 1, when_different, when_equal)
    value, target = variational_difference(d, g).item(), d(joint, product).item()
    figure = bars_figure({name: value}, title="", x_title="VD(g)")
    figure.add_vline(x=target, line_dash="dash", annotation_text=f"D = {target:.3f}")
    note = " · reached!" if target - value < 0.001 else ""
    if value == -torch.inf:
        note = f": {when_equal:g} or {when_different:g} is outside the domain of f*"
    figure.update_layout(title=f"VD(g) = {value:.3f}{note}", height=240, margin_t=80)
    left = min(max(value, -2), 0) - 0.1
    return figure.update_xaxes(range=(left, 1.4 * target))


values = {"when_equal": (-2.0, 2.0, 0.05), "when_different": (-5.0, 1.0, 0.05)}
explore(reach_figure, name=titles, **values)

# %% [markdown]
# The ratio $p/q$ is $0.45/0.25 = 1.8$ where $h = Y$ and $0.05/0.25 = 0.2$ elsewhere, so Pearson's $g^* = 2(p/q-1)$ is $1.6$ and $-1.6$. With those two values the bar reaches the line, and no others do.
#
# Now all eight at once, on a path that starts at the constant $g = f'(1)$, passes the optimum $g^*$ at $t = 1$ and goes on: $g_t = f'(1) + t\,(g^* - f'(1))$.

# %%
steps = torch.linspace(0, 1.6, 81, dtype=torch.float64)


def share_reached(d):
    best = d.derivative(joint / product)
    start = d.derivative(torch.ones_like(best))
    bounds = [variational_difference(d, start + t * (best - start)) for t in steps]
    return torch.stack(bounds) / d(joint, product)


curves_figure(
    {name: share_reached(divergence(name)) for name in DIVERGENCES},
    steps,
    names={name: divergence(name).title for name in DIVERGENCES},
    title="The bound closes as g approaches g*",
    x_title="t (0: constant g, 1: the optimal g*)",
    y_title="VD(g) / D",
    y_range=(-0.5, 1.1),
)

# %% [markdown]
# Every curve rises to exactly 1 at $t = 1$, and none goes above. Beyond it they fall; total variation stops altogether, because there $g^* = \pm\tfrac12$ already sits on the edge of its domain.
#
# ## 6 From g* to g_f
#
# **What a network does.** It has no table of ratios; it has a softmax. The paper's choice (§5, Algorithm 1) is to fix the shape of $g$ in advance: take $v = h_x[y]$, **the probability that the softmax gives to the label $y$**, and feed it through an increasing function $g_f$ that maps into the domain of $f^*$:
#
# $$\text{maximise}\quad \mathbb E_{(x,y)}\; g_f(h_x[y]) \;-\; \mathbb E_{x}\,\mathbb E_{y'}\; f^*\!\big(g_f(h_x[y'])\big).$$
#
# The first average runs over examples with their own labels (the joint distribution), the second over examples with independently drawn labels (the product distribution). Compare the fixed $g_f$ with the optimal $g^*$.

# %%
scores = torch.linspace(-3, 3, 121, dtype=torch.float64)
ratios = torch.linspace(0.05, 4, 120, dtype=torch.float64)


def activations_figure(highlight=None):
    fixed = {name: divergence(name).activation(scores) for name in DIVERGENCES}
    optimal = {name: divergence(name).derivative(ratios) for name in DIVERGENCES}
    panels = [
        ("fixed: g_f", "v", scores, fixed),
        ("optimal: g*", "p / q", ratios, optimal),
    ]
    title = "Two increasing functions into one domain"
    return panels_figure(panels, title=title, y_range=(-3, 3), highlight=highlight)


activations_figure()

# %% [markdown]
# Both sides increase, and both respect the same ceiling ($\tfrac12$ for total variation, $\log 2$ for Jensen-Shannon, 1 for squared Hellinger and Neyman, 0 for reverse KL). That is what $g_f$ is for: a network may output anything, and $g_f$ keeps it legal. One at a time:


# %% tags=["interactive"]
def one_activation_figure(name="reverse-kl"):
    d = divergence(name)
    title = f"{d.title}: both stay in the domain {d.domain}"
    return activations_figure(highlight=name).update_layout(title=title)


explore(one_activation_figure, name=titles)

# %% [markdown]
# **Now the catch.** A probability lives in $[0, 1]$, so training only ever sees a small piece of $g_f$. Stretch that piece of each to run from 0 to 1.

# %%
unit = torch.linspace(0, 1, 101, dtype=torch.float64)


def stretched(function):
    y = function(unit)
    return (y - y[0]) / (y[-1] - y[0])


g_part = {n: stretched(divergence(n).activation) for n in DIVERGENCES}
dual_part = {n: stretched(divergence(n).conjugate_of_activation) for n in DIVERGENCES}
panels = [
    ("g_f(v), stretched", "v = softmax probability", unit, g_part),
    ("f*(g_f(v)), stretched", "v = softmax probability", unit, dual_part),
]
panels_figure(panels, title="What training sees of the eight divergences")

# %% [markdown]
# On the probabilities all of them are nearly straight lines: none strays from the diagonal by more than an eighth. With $g_f(v) \approx a + bv$ and $f^*(g_f(v)) \approx c + dv$ the objective is, up to constants, "the probability of my label minus $d/b$ times the probability of a random label". **The divergences differ in training by one number, the ratio $d/b$**, far less than their formulas suggest.

# %%
rows = []
for name in DIVERGENCES:
    d = divergence(name)
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    b = d.activation(ends).diff().item()
    slope = d.conjugate_of_activation(ends).diff().item()
    away = max((part[name] - unit).abs().max().item() for part in (g_part, dual_part))
    rows.append([f"{away:.3f}", f"{slope / b:.3f}"])
columns = ["largest distance from a line", "d / b"]
pd.DataFrame(rows, columns=columns, index=list(titles))

# %% [markdown]
# Total variation has $d/b = 1$: agreeing with your label and agreeing with a random one weigh the same. Notebook 03 shows that this is what makes it exactly robust, and what the others pay when they deviate from 1.
#
# ## 7 The sign lesson
#
# The full table in the paper's appendix prints these activations for three divergences: $1-e^{v}$ for squared Hellinger, $1-e^{v}$ for Neyman, $-e^{v}$ for reverse KL. They map into the right domains. But look at which way they go.

# %%
flipped = [n for n in DIVERGENCES if divergence(n).printed_decreasing]
printed_g = {n: divergence(n).printed_activation(scores) for n in flipped}
increasing_g = {n: divergence(n).activation(scores) for n in flipped}
panels = [
    ("as printed", "v", scores, printed_g),
    ("increasing", "v", scores, increasing_g),
]
panels_figure(panels, title="Three activations, two signs", y_range=(-4, 1.2))

# %% [markdown]
# (Squared Hellinger and Neyman share an activation, so two lines lie on each other.) The printed ones **decrease**. The first term of the objective then grows when the probability of the given label *shrinks*: maximising it teaches the network to avoid the right answer. The value of the bound gives no warning: with a score $v$ that may be any number, $g(v)$ and $g(-v)$ run through the same values. The cure is $v \to -v$: $1-e^{-v}$, $1-e^{-v}$ and $-e^{-v}$.
#
# Train both versions, on **clean** digits, and see. The objective is the displayed formula of section 6, and the rest is an ordinary loop.

# %%
data = digits()
images, labels = data.train_images, data.train_labels
label_prior = torch.bincount(labels, minlength=10) / len(labels)


def train(g, dual_of_g):
    seed_everything(SEED)
    layers = nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)
    model = nn.Sequential(nn.Flatten(), *layers)
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
# Eight divergences with an increasing activation, then the three printed ones. Eleven short trainings.

# %% tags=["training", "nbval-ignore-output"]
accuracy, printed_accuracy = {}, {}
for name in DIVERGENCES:
    d = divergence(name)
    accuracy[name] = train(d.activation, d.conjugate_of_activation)
    if d.printed_decreasing:
        wrong_way = d.printed_activation, d.conjugate_of_printed_activation
        printed_accuracy[name] = train(*wrong_way)

# %% [markdown]
# The bars are accuracies on the clean test digits.

# %% tags=["nbval-ignore-output"]
figure = go.Figure()
for label, bars, colour in [
    ("as printed", printed_accuracy, "#D40000"),
    ("increasing", accuracy, "#0072B2"),
]:
    shown = [bars.get(name) for name in DIVERGENCES]
    text = ["" if a is None else f"{a:.1%}" for a in shown]
    figure.add_bar(y=list(titles), x=shown, text=text, name=label, orientation="h")
    figure.data[-1].update(marker_color=colour, textposition="outside")
title = "Clean digits: the three printed activations learn to be wrong"
figure.update_layout(title=title, xaxis_title="test accuracy", height=440, margin_l=130)
figure.update_xaxes(tickformat=".0%", range=(0, 1.1)).update_yaxes(autorange="reversed")

# %% [markdown]
# The eight increasing ones are all near 97 %. The three printed ones are not at chance, which would be 10 %, but **near zero: an anti-classifier, which has learned the digits perfectly well and avoids the right answer.** Their red bars are so short that only the number shows.
#
# This matters beyond a table. The appendix marks exactly these three divergences with a cross, "non-robust in practice". On this evidence the cross describes the sign, not the divergence: they fail without any label noise, and are repaired by one sign. (We train a small network on small digits here; notebook 05 repeats it with all methods under noise.)
#
# ## 8 The paper's table, checked
#
# Now every entry of the two tables, transcribed and compared with what follows from the generator. First the optimal $g^*$ as a function of the ratio $r = p/q$.

# %%
printed_g_star = {
    "tv": lambda r: torch.sign(r - 1) / 2,
    "js": lambda r: torch.log(2 * r / (r + 1)),
    "squared-hellinger": lambda r: 1 - torch.sqrt(1 / r),
    "pearson": lambda r: 2 * (r - 1),
    "neyman": lambda r: 1 - (1 / r) ** 2,
    "kl": lambda r: 1 + torch.log(r),
    "reverse-kl": lambda r: -1 / r,
    "jeffrey": lambda r: 1 + torch.log(r) - 1 / r,
}

# %% [markdown]
# The conjugates, as functions of $u$:


# %%
def w(u):
    """Lambert's W(e^(1-u)), by SciPy."""
    return torch.as_tensor(lambertw(torch.exp(1 - u).numpy()).real)


printed_conjugate = {
    "tv": lambda u: u,
    "js": lambda u: -torch.log(2 - torch.exp(u)),
    "squared-hellinger": lambda u: u / (1 - u),
    "pearson": lambda u: u**2 / 4 + u,
    "neyman": lambda u: 2 - 2 * torch.sqrt(1 - u),
    "kl": lambda u: torch.exp(u - 1),
    "reverse-kl": lambda u: -1 - torch.log(-u),
    "jeffrey": lambda u: w(u) + 1 / w(u) + u - 2,
}

# %% [markdown]
# The four divergences that Table 1 prints as integrals, through their integrands:

# %%
printed_divergence = {
    "tv": lambda p, q: (p - q).abs() / 2,
    "js": lambda p, q: (
        (p * torch.log(2 * p / (p + q)) + q * torch.log(2 * q / (p + q))) / 2
    ),
    "pearson": lambda p, q: (q - p) ** 2 / p,
    "kl": lambda p, q: p * torch.log(p / q),
}

# %% [markdown]
# The domains, where they are not all real numbers:

# %%
printed_domain = {
    "tv": Interval(-0.5, 0.5, low_closed=True, high_closed=True),
    "js": Interval(high=math.log(2)),
    "squared-hellinger": Interval(high=1.0),
    "neyman": Interval(high=1.0),
    "reverse-kl": Interval(high=0.0),
}

# %% [markdown]
# And the activations of the full table:

# %%
printed_activation = {
    "tv": lambda v: torch.tanh(v) / 2,
    "js": lambda v: torch.log(2 / (1 + torch.exp(-v))),
    "squared-hellinger": lambda v: 1 - torch.exp(v),
    "pearson": lambda v: v,
    "neyman": lambda v: 1 - torch.exp(v),
    "kl": lambda v: v,
    "reverse-kl": lambda v: -torch.exp(v),
    "jeffrey": lambda v: v,
}

# %% [markdown]
# One function judges an entry. An integral is right when it equals $D_f$ on a pair of tables; where it does not, we look for the divergence it does equal, or for the factor.

# %%
P = torch.arange(1, 13, dtype=torch.float64) / 78
Q = P.flip(0).sqrt() / P.sqrt().sum()


def same(a, b):
    return torch.allclose(a, b, rtol=1e-9, atol=1e-9)


def judge_divergence(name):
    if name not in printed_divergence:
        return "not printed"
    value = printed_divergence[name](P, Q).sum()
    for other in DIVERGENCES:
        if same(value, divergence(other)(P, Q)):
            return "holds" if other == name else f"is {divergence(other).title}"
    return f"is {value / divergence(name)(P, Q):.3g} × D_f"


def judge_activation(name):
    g = printed_activation[name](scores)
    inside = divergence(name).domain.contains(g).all()
    direction = "increasing" if (g.diff() > 0).all() else "decreasing"
    return (
        "holds" if inside and direction == "increasing" else f"in domain, {direction}"
    )


# %% [markdown]
# And the table, computed. The last column asks whether the row is of one piece: is the bound at the printed $g^*$, with the printed $f^*$, equal to the printed integral?


# %% tags=["nbval-check-output"]
def judge(name):
    d, g_star, conjugate = (
        divergence(name),
        printed_g_star[name],
        printed_conjugate[name],
    )
    slopes = d.derivative(ratios)
    entries = {
        "D_f": judge_divergence(name),
        "g*": "holds" if same(g_star(ratios), slopes) else "differs",
        "f*": "holds" if same(conjugate(slopes), d.conjugate(slopes)) else "differs",
        "dom f*": "holds"
        if printed_domain.get(name, Interval()) == d.domain
        else d.domain,
        "g_f": judge_activation(name),
    }
    if name in printed_divergence:
        bound = (P * g_star(P / Q)).sum() - (Q * conjugate(g_star(P / Q))).sum()
        ratio = bound / printed_divergence[name](P, Q).sum()
        entries["bound / D_f"] = f"{ratio:.3f}"
    return entries


verdicts = pd.DataFrame([judge(name) for name in DIVERGENCES], index=list(titles))
verdicts.fillna("")

# %% [markdown]
# All eight $g^*$ and all eight $f^*$ hold. Five entries do not belong to their row:
#
# - **Jensen-Shannon**: the integral carries a factor $\tfrac12$ that $g^*$ and $f^*$ do not. We drop it, so our value is twice the textbook's.
# - **Pearson**: the integral $(q-p)^2/p$ is Neyman's. The one that belongs to $g^* = 2(p/q - 1)$ is $(p-q)^2/q$.
# - **Squared Hellinger, Neyman, reverse KL**: the activations of section 7.
#
# One more, harmless: Neyman's $f^*$ is finite at $u = 1$ too, so its domain is $u \le 1$ where the table prints $u < 1$.
#
# The choices of the package are written into each entry:

# %% tags=["nbval-check-output"]
for name in DIVERGENCES:
    if divergence(name).note:
        print(f"{divergence(name).title}: {divergence(name).note}")

# %% [markdown]
# ## Claims checked
#
# First what the paper prints.

# %% tags=["claim", "nbval-check-output"]
exact = {"rtol": 1e-12, "atol": 1e-12}
claim(
    "KL by hand equals the package", torch.allclose(kl_by_hand(p, q), kl(p, q), **exact)
)
claim("every conjugate printed in the paper holds", (verdicts["f*"] == "holds").all())
claim("every optimal g printed in the paper holds", (verdicts["g*"] == "holds").all())
claim(
    "the printed Pearson integral is Neyman's",
    judge_divergence("pearson") == "is Neyman χ²",
)
claim(
    "the printed Jensen-Shannon is half of D_f",
    judge_divergence("js") == "is 0.5 × D_f",
)
claim(
    "exactly squared Hellinger, Neyman and reverse KL are printed with a decreasing g_f",
    list(verdicts.index[verdicts["g_f"] == "in domain, decreasing"])
    == ["Squared Hellinger", "Neyman χ²", "Reverse KL"],
)

# %% [markdown]
# And what the figures showed: the bound, the straight lines, and the trainings, each with a margin.

# %% tags=["claim", "nbval-check-output"]
at_best = steps.sub(1).abs().argmin()
reached = torch.stack([share_reached(divergence(n)) for n in DIVERGENCES])
claim("the bound is reached at g*", same(reached[:, at_best], torch.ones(8).double()))
claim("the bound is never exceeded", (reached <= 1 + 1e-12).all())
strayed = max(
    (part[n] - unit).abs().max() for n in DIVERGENCES for part in (g_part, dual_part)
)
claim(
    "on probabilities no g_f and no f*(g_f) strays from a line by over an eighth",
    strayed < 1 / 8,
)
claim("with an increasing g_f all eight exceed 90 %", min(accuracy.values()) > 0.90)
claim(
    "as printed, three stay under 5 % on clean digits",
    max(printed_accuracy.values()) < 0.05,
)

# %% [markdown]
# ## Summary
# - $D_f$ averages a convex function of the ratio $p/q$; it is never negative, and zero when $P = Q$.
# - The conjugate $f^*$ is the largest gap between a line and $f$. With it the ratio disappears: $D_f = \max_g \mathbb E_P[g] - \mathbb E_Q[f^*(g)]$.
# - Training fixes $g = g_f(h_x[y])$. It must increase and stay in the domain of $f^*$; three printed ones decrease, and train an anti-classifier.
# - On probabilities every $g_f$ is almost a straight line, so in training the divergences differ mainly by one number, $d/b$. For total variation it is 1.
#
# ## Exercises
#
# **1.** Derive the conjugate of squared Hellinger, $f(v) = (\sqrt v - 1)^2$, as we did for KL, and write it as a function of a tensor $u < 1$.


# %% tags=["exercise", "nbval-check-output"]
def hellinger_conjugate(u):
    raise NotImplementedError("your turn")


exercises.squared_hellinger_conjugate(hellinger_conjugate)

# %% [markdown]
# <details><summary>Hint</summary>
#
# $f'(v) = 1 - 1/\sqrt v$. Solve $u = f'(v)$ for $v$, then simplify $uv - f(v)$; with $s = \sqrt v = 1/(1-u)$ it is one line.
#
# </details>
# <details><summary>Solution</summary>
#
# With $s = \sqrt v = 1/(1-u)$ we have $u = 1 - 1/s$, so $uv - f(v) = (1 - 1/s)s^2 - (s-1)^2 = s - 1 = u/(1-u)$.
#
# ```python
# def hellinger_conjugate(u):
#     return u / (1 - u)
# ```
#
# </details>

# %% [markdown]
# **2.** *Triangular discrimination* is $\sum_z (p-q)^2/(p+q)$. Find its generator and its conjugate, and return it as a ninth `Divergence` called `"triangular"`. The registry takes it with `fdiv.theory.divergences.register(triangular())`, and every function of the package then knows it. Start with `from fdiv.theory.divergences import Divergence`; `help(Divergence)` explains the fields, and the entries at the end of `fdiv/theory/divergences.py` are eight examples.


# %% tags=["exercise", "nbval-check-output"]
def triangular():
    raise NotImplementedError("your turn")


exercises.triangular(triangular)

# %% [markdown]
# <details><summary>Hint</summary>
#
# Divide by $q$: $f(v) = (v-1)^2/(v+1)$, and $f'(v) = 1 - 4/(v+1)^2$. The slope starts at $f'(0) = -3$ and ends at 1. With $w = \sqrt{1-u}$ the touching point is $v = 2/w - 1$, and $f^*(u) = (1-w)(3-w)$. For $u < -3$ the best $v$ is 0, which gives $f^* = -f(0) = -1$; that is the same formula at $w = 2$. As activation any increasing function into $u < 1$ will do, such as $1 - e^{-v}$.
#
# </details>
# <details><summary>Solution</summary>
#
# ```python
# from fdiv.theory.divergences import Divergence
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
#         generator=lambda v: (v - 1) ** 2 / (v + 1),
#         slope=lambda v: 1 - 4 / (v + 1) ** 2,
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
# **3.** For total variation $f^*(u) = u$ on $[-\tfrac12, \tfrac12]$, so the bound is $\sum_z g(z)\,(p(z) - q(z))$. Write the $g$ that makes it largest, and so show that the bound is attained by a sign.


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
# ## Further reading
# - S. Nowozin, B. Cseke and R. Tomioka, *f-GAN*, NeurIPS 2016: where training through $f^*$ and an output activation comes from.
# - X. Nguyen, M. Wainwright and M. Jordan, *Estimating divergence functionals and the likelihood ratio by convex risk minimization*, IEEE Trans. Inf. Theory 2010: the variational form.
# - Y. Polyanskiy and Y. Wu, *Information Theory: From Coding to Learning*, chapter 7: every property of f-divergences used here.
#
# **Next**: [02 Noise models](02_noise_models.ipynb)
