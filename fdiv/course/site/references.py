"""What to read: every reference with a link and BibTeX, and the notebooks that send a reader there."""

# ruff: noqa: E501 (a row is a line)

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from fdiv.course.prediction import inline
from fdiv.course.site.lessons import Lesson


@dataclass(frozen=True)
class Reference:
    """One thing to read.

    authors: as BibTeX has them, "Wei, Jiaheng and Liu, Yang".
    where: the conference, journal or publisher.
    kind: of the BibTeX entry.
    """

    authors: str
    title: str
    where: str
    year: int
    url: str
    kind: str = "inproceedings"

    @property
    def key(self) -> str:
        """The family name of the first author, the year, and the first longer word of the title."""
        family = re.sub(r"\W", "", self.authors.split(",")[0]).casefold()
        word = next(w for w in re.findall(r"[^\W\d_]+", self.title.casefold()) if len(w) > 3)
        return f"{family}{self.year}{word}"

    def bibtex(self) -> str:
        """Return the entry.

        >>> print(REFERENCES[0].bibtex().splitlines()[0])
        @inproceedings{wei2021when,
        """
        holder = {"inproceedings": "booktitle", "article": "journal", "book": "publisher"}[self.kind]
        rows = {
            "title": "{" + self.title + "}", "author": self.authors, holder: self.where,
            "year": str(self.year), "url": self.url,
        }  # fmt: skip
        body = ",\n".join(f"  {name:<9} = {{{value}}}" for name, value in rows.items())
        return f"@{self.kind}{{{self.key},\n{body}\n}}"


def _arxiv(number: str) -> str:
    return f"https://arxiv.org/abs/{number}"


_ICLR = "International Conference on Learning Representations"
_ICML = "International Conference on Machine Learning"
_NEURIPS = "Advances in Neural Information Processing Systems"
_JMLR = "Journal of Machine Learning Research"
_CVPR = "IEEE Conference on Computer Vision and Pattern Recognition"
_ICCV = "IEEE International Conference on Computer Vision"
_AAAI = "AAAI Conference on Artificial Intelligence"

# A new reference is one row; the paper comes first.
REFERENCES = (
    Reference("Wei, Jiaheng and Liu, Yang", "When Optimizing f-Divergence is Robust with Label Noise", _ICLR, 2021, "https://openreview.net/forum?id=WesiCoRVQ15"),
    Reference("Zhang, Chiyuan and Bengio, Samy and Hardt, Moritz and Recht, Benjamin and Vinyals, Oriol", "Understanding deep learning requires rethinking generalization", _ICLR, 2017, _arxiv("1611.03530")),
    Reference("Arpit, Devansh and others", "A Closer Look at Memorization in Deep Networks", _ICML, 2017, _arxiv("1706.05394")),
    Reference("Nowozin, Sebastian and Cseke, Botond and Tomioka, Ryota", "f-GAN: Training Generative Neural Samplers using Variational Divergence Minimization", _NEURIPS, 2016, _arxiv("1606.00709")),
    Reference("Nguyen, XuanLong and Wainwright, Martin J. and Jordan, Michael I.", "Estimating divergence functionals and the likelihood ratio by convex risk minimization", "IEEE Transactions on Information Theory", 2010, _arxiv("0809.0853"), "article"),
    Reference("Polyanskiy, Yury and Wu, Yihong", "Information Theory: From Coding to Learning", "Cambridge University Press", 2024, "https://people.lids.mit.edu/yp/homepage/data/itbook-export.pdf", "book"),
    Reference("Natarajan, Nagarajan and Dhillon, Inderjit S. and Ravikumar, Pradeep and Tewari, Ambuj", "Learning with Noisy Labels", _NEURIPS, 2013, "https://papers.nips.cc/paper/5073-learning-with-noisy-labels"),
    Reference("Patrini, Giorgio and Rozza, Alessandro and Menon, Aditya Krishna and Nock, Richard and Qu, Lizhen", "Making Deep Neural Networks Robust to Label Noise: a Loss Correction Approach", _CVPR, 2017, _arxiv("1609.03683")),
    Reference("Wei, Jiaheng and Zhu, Zhaowei and Cheng, Hao and Liu, Tongliang and Niu, Gang and Liu, Yang", "Learning with Noisy Labels Revisited: A Study Using Real-World Human Annotations", _ICLR, 2022, _arxiv("2110.12088")),
    Reference("Liu, Yang and Guo, Hongyi", "Peer Loss Functions: Learning from Noisy Labels without Knowing Noise Rates", _ICML, 2020, _arxiv("1910.03231")),
    Reference("Menon, Aditya Krishna and van Rooyen, Brendan and Ong, Cheng Soon and Williamson, Robert C.", "Learning from Corrupted Binary Labels via Class-Probability Estimation", _ICML, 2015, "https://proceedings.mlr.press/v37/menon15.html"),
    Reference("Northcutt, Curtis G. and Jiang, Lu and Chuang, Isaac L.", "Confident Learning: Estimating Uncertainty in Dataset Labels", "Journal of Artificial Intelligence Research", 2021, _arxiv("1911.00068"), "article"),
    Reference("Xu, Yilun and Cao, Peng and Kong, Yuqing and Wang, Yizhou", "L_DMI: A Novel Information-theoretic Loss Function for Training Deep Nets Robust to Label Noise", _NEURIPS, 2019, _arxiv("1909.03388")),
    Reference("Bouthillier, Xavier and others", "Accounting for Variance in Machine Learning Benchmarks", "Conference on Machine Learning and Systems", 2021, _arxiv("2103.03098")),
    Reference("Dodge, Jesse and Gururangan, Suchin and Card, Dallas and Schwartz, Roy and Smith, Noah A.", "Show Your Work: Improved Reporting of Experimental Results", "Conference on Empirical Methods in Natural Language Processing", 2019, _arxiv("1909.03004")),
    Reference("He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian", "Identity Mappings in Deep Residual Networks", "European Conference on Computer Vision", 2016, _arxiv("1603.05027")),
    Reference("Ghosh, Aritra and Kumar, Himanshu and Sastry, P. S.", "Robust Loss Functions under Label Noise for Deep Neural Networks", _AAAI, 2017, _arxiv("1712.09482")),
    Reference("Feller, William", "An Introduction to Probability Theory and Its Applications, Volume 1", "Wiley", 1968, "https://openlibrary.org/isbn/0471257087", "book"),
    Reference("Xiao, Tong and Xia, Tian and Yang, Yi and Huang, Chang and Wang, Xiaogang", "Learning from Massive Noisy Labeled Data for Image Classification", _CVPR, 2015, "https://openaccess.thecvf.com/content_cvpr_2015/html/Xiao_Learning_From_Massive_2015_CVPR_paper.html"),
    Reference("Xia, Xiaobo and others", "Part-dependent Label Noise: Towards Instance-dependent Label Noise", _NEURIPS, 2020, _arxiv("2006.07836")),
    Reference("Chen, Pengfei and Ye, Junjie and Chen, Guangyong and Zhao, Jingwei and Heng, Pheng-Ann", "Beyond Class-Conditional Assumption: A Primary Attempt to Combat Instance-Dependent Label Noise", _AAAI, 2021, _arxiv("2012.05458")),
    Reference("Menon, Aditya Krishna and others", "Long-Tail Learning via Logit Adjustment", _ICLR, 2021, _arxiv("2007.07314")),
    Reference("Kong, Yuqing and Schoenebeck, Grant", "An Information Theoretic Framework For Designing Information Elicitation Mechanisms That Reward Truth-telling", "ACM Transactions on Economics and Computation", 2019, _arxiv("1605.01021"), "article"),
    Reference("Krause, Andreas and Perona, Pietro and Gomes, Ryan", "Discriminative Clustering by Regularized Information Maximization", _NEURIPS, 2010, "https://papers.nips.cc/paper/4154-discriminative-clustering-by-regularized-information-maximization"),
    Reference("Linsker, Ralph", "Self-Organization in a Perceptual Network", "Computer", 1988, "https://doi.org/10.1109/2.36", "article"),
    Reference("Zhang, Zhilu and Sabuncu, Mert R.", "Generalized Cross Entropy Loss for Training Deep Neural Networks with Noisy Labels", _NEURIPS, 2018, _arxiv("1805.07836")),
    Reference("Wang, Yisen and Ma, Xingjun and Chen, Zaiyi and Luo, Yuan and Yi, Jinfeng and Bailey, James", "Symmetric Cross Entropy for Robust Learning with Noisy Labels", _ICCV, 2019, _arxiv("1908.06112")),
    Reference("Ma, Xingjun and others", "Normalized Loss Functions for Deep Learning with Noisy Labels", _ICML, 2020, _arxiv("2006.13554")),
    Reference("Zhou, Xiong and Liu, Xianming and Jiang, Junjun and Gao, Xin and Ji, Xiangyang", "Asymmetric Loss Functions for Learning with Noisy Labels", _ICML, 2021, _arxiv("2106.03110")),
    Reference("Englesson, Erik and Azizpour, Hossein", "Generalized Jensen-Shannon Divergence Loss for Learning with Noisy Labels", _NEURIPS, 2021, _arxiv("2105.04522")),
    Reference("Liu, Sheng and Niles-Weed, Jonathan and Razavian, Narges and Fernandez-Granda, Carlos", "Early-Learning Regularization Prevents Memorization of Noisy Labels", _NEURIPS, 2020, _arxiv("2007.00151")),
    Reference("Foret, Pierre and Kleiner, Ariel and Mobahi, Hossein and Neyshabur, Behnam", "Sharpness-Aware Minimization for Efficiently Improving Generalization", _ICLR, 2021, _arxiv("2010.01412")),
    Reference("Wei, Hongxin and Zhuang, Huiping and Xie, Renchunzi and Feng, Lei and Niu, Gang and An, Bo and Li, Yixuan", "Mitigating Memorization of Noisy Labels by Clipping the Model Prediction", _ICML, 2023, _arxiv("2212.04055")),
    Reference("Demšar, Janez", "Statistical Comparisons of Classifiers over Multiple Data Sets", _JMLR, 2006, "https://www.jmlr.org/papers/v7/demsar06a.html", "article"),
    Reference("Pineau, Joelle and others", "Improving Reproducibility in Machine Learning Research", _JMLR, 2021, "https://www.jmlr.org/papers/v22/20-303.html", "article"),
    Reference("Ishida, Takashi and Niu, Gang and Hu, Weihua and Sugiyama, Masashi", "Learning from Complementary Labels", _NEURIPS, 2017, _arxiv("1705.07541")),
    Reference("Banerjee, Arindam and Merugu, Srujana and Dhillon, Inderjit S. and Ghosh, Joydeep", "Clustering with Bregman Divergences", _JMLR, 2005, "https://www.jmlr.org/papers/v6/banerjee05b.html", "article"),
    Reference("Novello, Nicola and Tonello, Andrea M.", "f-Divergence Based Classification: Beyond the Use of Cross-Entropy", _ICML, 2024, _arxiv("2401.01268")),
    Reference("Dawid, A. Philip and Skene, Allan M.", "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm", "Applied Statistics", 1979, "https://doi.org/10.2307/2346806", "article"),
    Reference("Hutto, Clayton J. and Gilbert, Eric", "VADER: A Parsimonious Rule-based Model for Sentiment Analysis of Social Media Text", "International AAAI Conference on Web and Social Media", 2014, "https://ojs.aaai.org/index.php/ICWSM/article/view/14550"),
    Reference("Wei, Jiaheng and others", "To Smooth or Not? When Label Smoothing Meets Noisy Labels", _ICML, 2022, _arxiv("2106.04149")),
)  # fmt: skip


def references(lessons: Sequence[Lesson], notebooks: Sequence[NotebookNode]) -> str:
    """Return the body of the page: the rows, with what the notebooks say about each, then what they add."""
    said: dict[str, list[str]] = {}
    more: list[str] = []
    for lesson, notebook in zip(lessons, notebooks, strict=True):
        for item in further_reading(notebook):
            keys = [one.key for one in cited(item)]
            note = item.rpartition("*")[2].partition(": ")[2].rstrip(".")
            link = f'<a href="{lesson.name}.html">{lesson.name[:2]}</a>'
            for key in keys:
                said.setdefault(key, []).append(f"{link}{' ' + inline(note) if note else ''}")
            if not keys:
                more.append(f"<li>{inline(item)} ({link})</li>")
    rows = "".join(_row(one, said.get(one.key, [])) for one in REFERENCES)
    rest = f'<h2 id="more">Also named in the notebooks</h2><ul>{"".join(more)}</ul>' if more else ""
    everything = html.escape("\n\n".join(one.bibtex() for one in REFERENCES))
    return (
        "<h1>References</h1><p>Please cite the paper, which comes first. Open <em>BibTeX</em> below an entry, or "
        f'take all of them at once.</p><details class="bibtex"><summary>All as BibTeX</summary><pre>{everything}'
        f'</pre></details><ol class="references">{rows}</ol>{rest}'
    )


def further_reading(notebook: NotebookNode) -> list[str]:
    """Return the items under "Further reading" of a notebook, as Markdown."""
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    found = re.search(r"^## Further reading\n(.*?)(?=^#|^\*\*Next|\Z)", prose, re.MULTILINE | re.DOTALL)
    return re.findall(r"^- (.+)$", found[1], re.MULTILINE) if found else []


def cited(item: str) -> list[Reference]:
    """Return the rows that an item of further reading names in italics: by the whole title, or its beginning.

    >>> [one.key for one in cited("S. Nowozin et al., *f-GAN*, NeurIPS 2016")]
    ['nowozin2016training']
    """
    found: list[Reference] = []
    for title in map(_letters, re.findall(r"\*([^*]+)\*", item)):
        exact = [
            one for one in REFERENCES if title in (_letters(one.title), _letters(one.title.split(":")[0]))
        ]
        begun = [one for one in REFERENCES if len(title) > 10 and _letters(one.title).startswith(title)]
        found += exact or begun
    return found


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _row(one: Reference, said: Sequence[str]) -> str:
    *others, last = (_name(author) for author in one.authors.split(" and "))
    authors = f"{', '.join(others)} and {last}" if others else last
    notes = f"<p>In {'; '.join(said)}.</p>" if said else ""
    return (
        f'<li id="{one.key}">{html.escape(authors)}: <a href="{html.escape(one.url)}">{html.escape(one.title)}</a>. '
        f"{html.escape(one.where)}, {one.year}.{notes}"
        f'<details class="bibtex"><summary>BibTeX</summary><pre>{html.escape(one.bibtex())}</pre></details></li>'
    )


def _name(author: str) -> str:
    """Return "Wei, Jiaheng" as it is spoken."""
    family, _, given = author.partition(", ")
    return f"{given} {family}".strip()
