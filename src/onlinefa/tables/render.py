"""Tables as Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

Lines = Sequence[Sequence[str]]


def to_markdown(caption: str, header: Sequence[str], body: Lines) -> str:
    lines = ["| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *body]]
    return "\n".join([caption, "", *lines, ""])


def to_latex(caption: str, header: Sequence[str], body: Lines) -> str:
    """A table of its own; cells are LaTeX already."""
    caption = caption.replace("||", r"$\|$").replace("_", r"\_").replace("%", r"\%")
    return "\n".join(
        [
            r"\begin{table}", r"\centering", rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{{'r' * len(header)}}}", r"\hline",
            " & ".join(header) + r" \\", r"\hline",
            *(" & ".join(line) + r" \\" for line in body), r"\hline",
            r"\end{tabular}", r"\end{table}", "",
        ]
    )  # fmt: skip
