"""Tables as Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

Lines = Sequence[Sequence[str]]


def to_markdown(caption: str, header: Sequence[str], body: Lines) -> str:
    lines = ["| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *body]]
    return "\n".join([caption, "", *lines, ""])


def to_latex(caption: str, header: Sequence[str], body: Lines) -> str:
    """A table of its own; cells may hold formulas, in dollars."""
    caption = _escaped(caption.replace("||", r"$\|$"))
    return "\n".join(
        [
            r"\begin{table}", r"\centering", rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{{'r' * len(header)}}}", r"\hline",
            _escaped(" & ".join(header)) + r" \\", r"\hline",
            *(_escaped(" & ".join(line)) + r" \\" for line in body), r"\hline",
            r"\end{tabular}", r"\end{table}", "",
        ]
    )  # fmt: skip


def _escaped(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%")
