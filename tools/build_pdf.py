"""Build the PDF edition from the notebooks that `make book` ran; needs a TeX distribution."""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import nbformat
import yaml
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
EXECUTED = BUILD / "jupyter_execute" / "book"
SOURCE, TARGET = BUILD / "pdf-source", BUILD / "pdf"
NAME = "attention-landscape"

#: Columns of the ledger that are printed (the functions and the tests are too wide), with widths.
LEDGER_COLUMNS = {0: ".36", 1: ".09", 2: ".12", 6: ".43"}
TABLE = (
    "```{tabularcolumns} "
    + "".join(rf">{{\raggedright\arraybackslash}}\Y{{{w}}}" for w in LEDGER_COLUMNS.values())
    + "\n```\n\n"
)

REFERENCE = """# What is in the package?

The reference of the package has links to the statements and back, so it stays on the site and in
the docstrings: `help(al.polish)` shows one.
"""

#: Said after a sentence that asks the reader to move a slider.
SLIDER = " *(The slider is on the site.)*"

#: The front page has no heading of its own in print.
FRONT = r"""
```{raw} latex
\chapter*{About this book}
\addcontentsline{toc}{chapter}{About this book}
\markboth{}{About this book}
```
"""

STUB = r"""% Double-struck letters where the bbm fonts are not installed.
\providecommand{\mathbbm}[1]{\mathbb{#1}}
"""

FONTS = r"""
\setmainfont{FreeSerif}[Extension=.otf, UprightFont=*, ItalicFont=*Italic, BoldFont=*Bold,
  BoldItalicFont=*BoldItalic]
\setsansfont{FreeSans}[Extension=.otf, UprightFont=*, ItalicFont=*Oblique, BoldFont=*Bold,
  BoldItalicFont=*BoldOblique]
\setmonofont{DejaVuSansMono}[Extension=.ttf, UprightFont=*, ItalicFont=*-Oblique,
  BoldFont=*-Bold, BoldItalicFont=*-BoldOblique, Scale=0.8]
"""

PREAMBLE = r"""
\usepackage{xurl}
\setcounter{tocdepth}{0}
\newenvironment{booksolution}[1]
  {\par\bigskip\needspace{7\baselineskip}\noindent\textbf{#1.}\par\nobreak}{\par\bigskip}
% No heading alone at the foot of a page, no stub of code. Pages may end early, so measure exactly:
% the stretch of \needspace would pull text over to a figure's page.
\let\needspace\Needspace
\makeatletter
\AddToHook{cmd/section/before}{\needspace{14\baselineskip}}
\AddToHook{cmd/subsection/before}{\if@nobreak\else\needspace{12\baselineskip}\fi}
\AddToHook{env/sphinxadmonition/before}{\if@nobreak\else\needspace{9\baselineskip}\fi}
\makeatother
\AddToHook{env/DUlineblock/before}{\needspace{9\baselineskip}}
\AddToHook{env/sphinxVerbatimOutput/begin}{\fvset{fontsize=\footnotesize}} % wide tables
\renewcommand{\sphinxliteralblockwithoutcaptionneedspace}{4\baselineskip}
\newcolumntype{T}{L} % columns of text are not justified
\setlength{\tymin}{32pt} % a short column is as wide as its heading
\widowpenalty=10000 \clubpenalty=10000
\setlength{\emergencystretch}{3em}
\AtBeginDocument{\renewcommand{\setminus}{\smallsetminus}}
\makeatletter
\AtBeginDocument{\spx@image@maxheight=.55\textheight} % room for captions
\patchcmd{\l@chapter}{1.0em}{.55em}{}{} % the contents fit on a page
\patchcmd{\l@part}{2.25em}{1.2em}{}{}
\makeatother
"""

TITLE = r"""
\hypersetup{pdftitle={Attention’s mean-field landscape: a computational companion},
  pdfauthor={The companion’s authors}}
\begin{titlepage}
\null\vfill
{\Huge\bfseries Attention’s mean-field landscape\par}
\bigskip
{\Large A computational companion\par}
\vspace{3em}
{\large The companion’s authors\par}
\vfill
{\small
A companion to \emph{Perceptrons and localization of attention’s mean-field landscape}
by Álvarez-López, Geshkovski and Ruiz-Balet, \href{https://arxiv.org/abs/2601.21366}
{arXiv:2601.21366}. Statements of the paper are restated in our own words; check against the
paper.\par\medskip
This is the printed edition. The site has the live lab, sliders, and the code of the figures;
numbers of theorems, equations and figures are the same.\par\medskip
Text and figures: CC BY 4.0. Code: BSD 3-Clause.\par}
\end{titlepage}
"""


def without_repeats(outputs: list) -> list:
    """Printed lines once: the site's build has put all of a cell in the first stream of a name."""
    first = {}
    for output in outputs:
        if output.output_type == "stream":
            first.setdefault(output.name, output)
    return [o for o in outputs if o.output_type != "stream" or o is first[o.name]]


def printable(cells: list) -> list:
    """The cells of a notebook that can be printed: no sliders, pictures with few colours."""
    for before, cell in pairwise(cells):
        if "widget" in cell.metadata.get("tags", []) and before.cell_type == "markdown":
            before.source = re.sub(r":$", ".", before.source.rstrip()) + SLIDER
    cells = [cell for cell in cells if "widget" not in cell.metadata.get("tags", [])]
    for cell in cells:
        if "outputs" in cell:
            cell.outputs = without_repeats(cell.outputs)
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        if "image/png" in output.get("data", {}):
            small = io.BytesIO()
            picture = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"])))
            picture.convert("RGB").quantize(128).save(small, format="PNG", optimize=True)
            output.data["image/png"] = base64.b64encode(small.getvalue()).decode("ascii")
    return cells


def quoted_title(cells: list) -> list:
    """Quotes in a title as Sphinx will set them: its extensions look pages up by their titles."""
    for cell in cells:
        if match := re.search(r"^# .*$", cell.source, re.M):
            title = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", match.group())
            cell.source = cell.source.replace(match.group(), title, 1)
            break
    return cells


def narrow(ledger: str) -> str:
    """The ledger without its widest columns."""
    lines = []
    for line in ledger.splitlines():
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            line = "|" + "|".join(cells[i] for i in LEDGER_COLUMNS) + "|"
        lines.append(line)
    text = "\n".join(lines) + "\n"
    wide = re.compile(r"\*\*(Experiment|Computed by|Checked by)\*\*.*?(?=\n\*\*|\n\n)", re.S)
    text = text.replace("| statement |", TABLE + "| statement |", 1)
    return wide.sub("", text).replace(
        "One row for each numbered statement of the book.\n",
        "One row for each numbered statement of the book. The site has three more columns: the "
        "experiment, the functions that compute a statement, and the tests that check it.\n",
    )


def copy_source() -> None:
    """The book with its executed notebooks, as a folder of its own."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    for folder in ("book", "tools"):
        shutil.copytree(ROOT / folder, SOURCE / folder)
    for path in sorted(EXECUTED.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        notebook.cells = quoted_title(printable(notebook.cells))
        notebook.metadata.pop("widgets", None)
        if path.stem == "index":
            first = notebook.cells[0]
            first.source = first.source.replace("\n", "\n" + FRONT, 1)
        nbformat.write(notebook, SOURCE / "book" / path.name)
    ledger = SOURCE / "book" / "ledger.md"
    ledger.write_text(narrow(ledger.read_text(encoding="utf-8")), encoding="utf-8")
    (SOURCE / "book" / "api.md").write_text(REFERENCE, encoding="utf-8")
    (SOURCE / "bbm.sty").write_text(STUB, encoding="utf-8")
    shutil.copy(ROOT / "_toc.yml", SOURCE)
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["execute"] = {"execute_notebooks": "off"}
    title = config["title"].replace("'", "’")
    config["latex"] = {"latex_documents": {"targetname": f"{NAME}.tex", "title": title}}
    config["sphinx"]["local_extensions"]["printed"] = "tools"
    config["sphinx"]["config"] |= {
        "latex_domain_indices": False,
        "latex_additional_files": ["bbm.sty"],
        "latex_elements": {
            "papersize": "a4paper",
            "extraclassoptions": "openany,oneside",
            "fncychap": "",
            "fontpkg": FONTS,
            "figure_align": "H",  # a figure stays behind the code that draws it
            "fvset": r"\fvset{fontsize=\fontsize{9}{10.8}\selectfont}",
            "makeindex": "",
            "maketitle": TITLE,
            "preamble": PREAMBLE,
            "printindex": "",
            "sphinxsetup": "hmargin={2.2cm,2.2cm}, vmargin={2.4cm,2.4cm}, "
            r"HeaderFamily=\sffamily\bfseries\raggedright",
        },
    }
    text = yaml.safe_dump(config, allow_unicode=True, sort_keys=False)
    (SOURCE / "_config.yml").write_text(text, encoding="utf-8")


def run(command: list, folder: Path) -> int:
    """Run a command without input; return its code."""
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, check=False).returncode


def main() -> int:
    """Build the PDF and say where it is."""
    if not EXECUTED.exists():
        print("There are no executed notebooks: run 'make book' first.", file=sys.stderr)
        return 1
    for program in ("xelatex", "latexmk"):
        if shutil.which(program) is None:
            print(f"{program} was not found: see tools/install-texlive.", file=sys.stderr)
            return 1
    copy_source()
    book = Path(sys.executable).with_name("jupyter-book")
    command = [book, "build", "-W", "-n", "--keep-going", "-q", "--builder", "latex", "."]
    if code := run(command, SOURCE):
        return code
    latex = SOURCE / "_build" / "latex"
    command = ["latexmk", "-xelatex", "-silent", "-interaction=nonstopmode", f"{NAME}.tex"]
    if code := run(command, latex):
        print(f"LaTeX failed: see {latex / NAME}.log", file=sys.stderr)
        return code
    TARGET.mkdir(exist_ok=True)
    for suffix in ("pdf", "log", "aux", "tex"):
        shutil.copy(latex / f"{NAME}.{suffix}", TARGET)
    print(f"The PDF is at {TARGET / NAME}.pdf")
    return 0


if __name__ == "__main__":
    sys.exit(main())
