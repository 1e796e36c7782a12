"""Sphinx extension of the PDF edition: its numbers are those of the site."""

from __future__ import annotations

from typing import Any

from sphinx.addnodes import number_reference
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import exercise_latex_number_reference, solution_node


class ExerciseNumbers(SphinxPostTransform):
    """Let references to exercises of other chapters lead there, with the site's number."""

    default_priority = 900

    def run(self, **kwargs: Any) -> None:
        exercises = self.env.sphinx_exercise_registry
        for node in list(self.document.findall(number_reference)):
            label = node.get("refid") or node.get("refuri", "").rpartition("#")[2]
            if label in exercises:
                numbers = self.env.toc_fignumbers[exercises[label]["docname"]]["exercise"]
                text = "Exercise " + ".".join(map(str, numbers[label]))
                node.replace_self(exercise_latex_number_reference("", text, refid=label))


def open_solution(self: Any, node: Any) -> None:
    """A solution has no frame: code in a frame cannot go on over the page."""
    page = self.builder.env.sphinx_exercise_registry[node["label"]]["docname"]
    label = f"{page}:{node['label']}"
    self.body.append(rf"\phantomsection\label{{{label}}}" + "\n\\begin{booksolution}")


def close_solution(self: Any, node: Any) -> None:
    """End it."""
    self.body.append("\\end{booksolution}\n")


def count_through(app: Any) -> None:
    """No counter starts again at a chapter: on the site chapters have no numbers."""
    app.config.numfig_secnum_depth = 0


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx, after the extension that decides otherwise."""
    app.connect("builder-inited", count_through, priority=900)
    app.add_node(solution_node, override=True, latex=(open_solution, close_solution))
    app.add_post_transform(ExerciseNumbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
