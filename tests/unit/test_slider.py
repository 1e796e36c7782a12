"""The slider over figures: what it refuses, and that each picture is there with its words."""

import base64
import re
from io import BytesIO

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pytest
from PIL import Image

import attention_landscape as al


def draw(value):
    figure, ax = plt.subplots(figsize=(4, 2))
    ax.plot([0, value])
    return figure


def make(values=(1, 2, 3), **options):
    return al.figures.slider(
        draw, values, **({"label": "value", "alt": lambda v: f"a line to <{v}>"} | options)
    )


def test_each_value_has_its_picture():
    box = make(start=1, text=lambda v: f"{v} m")
    control, stack = box.children
    assert control.options == ("1 m", "2 m", "3 m") and control.description == "value"
    assert control.index == stack.selected_index == 1
    pictures = []
    for value, child in zip((1, 2, 3), stack.children, strict=True):
        assert f'alt="a line to &lt;{value}&gt;"' in child.value
        data = re.search(r"base64,([^\"]+)", child.value).group(1)
        with Image.open(BytesIO(base64.b64decode(data))) as image:
            assert image.size == (440, 220)
        pictures.append(data)
    assert len(set(pictures)) == 3
    assert not plt.get_fignums(), "figures are left open"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": [1]}, "values must be at least two"),
        ({"values": []}, "values must be at least two"),
        ({"text": lambda v: "same"}, "values must be at least two with different texts"),
        ({"start": 3}, "start must be an index below 3, got 3"),
        ({"start": -1}, "start must be an index"),
        ({"alt": lambda v: ""}, "alt must return a text that is not empty"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
    assert not plt.get_fignums()


def test_draw_must_return_a_figure():
    with pytest.raises(ValueError, match="draw must return a matplotlib Figure, got int"):
        al.figures.slider(int, [1, 2], label="n", alt=str)
