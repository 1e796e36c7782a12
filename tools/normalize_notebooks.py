"""Write notebooks in the form that is committed: executed, without pictures, stable bytes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import nbformat

#: Pictures are drawn when the site is built; their bytes differ from machine to machine.
PICTURES = ("image/png", "image/jpeg", "image/svg+xml", "application/pdf")

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path) -> Any:
    """Run a notebook from a fresh kernel and return it."""
    from nbclient import NotebookClient

    os.environ.pop("MPLBACKEND", None)  # the kernel's own choice shows figures, Agg does not
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    return client.execute()


def normalize(notebook: Any) -> Any:
    """Keep text outputs and tags; drop pictures, times, widget state and changing ids."""
    notebook.metadata = nbformat.from_dict(METADATA)
    count = 0
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number:03d}"
        kept = {key: cell.metadata[key] for key in ("tags", "mystnb") if key in cell.metadata}
        cell.metadata = nbformat.from_dict(kept)
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        if "widget" in cell.metadata.get("tags", []):  # its state would be in no notebook
            cell.outputs = []
        outputs = []
        for output in cell.outputs:
            if output.output_type in ("display_data", "execute_result"):
                output.data = nbformat.from_dict(
                    {k: v for k, v in output.data.items() if k not in PICTURES}
                )
                output.metadata = nbformat.from_dict({})
            if "execution_count" in output:
                output.execution_count = count
            outputs.append(output)
        cell.outputs = outputs
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def text(notebook: Any) -> str:
    """The file of a notebook in the committed form."""
    written: str = nbformat.writes(normalize(notebook), indent=1, ensure_ascii=False)
    return written.rstrip("\n") + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Command line: normalise, and with --execute run first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--execute", action="store_true", help="run each notebook first")
    options = parser.parse_args(arguments)
    for path in options.notebooks:
        print(path, flush=True)
        notebook = execute(path) if options.execute else nbformat.read(path, as_version=4)
        path.write_text(text(notebook), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
