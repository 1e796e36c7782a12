"""The live lab on its page: it moves, stops, resets; keyboard, touch, reduced motion, speed."""

from __future__ import annotations

import statistics

import pytest

DESKTOP = {"width": 1280, "height": 900}
VIEW = "document.querySelector('.al-lab').view"


@pytest.fixture
def lab(visit):
    """The page of the lab, ready; options of the browser and an anchor can be given."""

    def opener(anchor="", **options):
        visited = visit("book/lab", **({"viewport": DESKTOP} | options))
        if anchor:
            visited.page.evaluate(f"location.hash = '{anchor}'")
        visited.page.wait_for_selector(".al-lab canvas")
        visited.get = lambda name: visited.page.evaluate(f"{VIEW}.{name}")
        return visited

    return opener


def button(visited, name):
    return visited.page.get_by_role("button", name=name, exact=True)


def test_step_play_pause_reset(lab):
    visited = lab()
    start = visited.get("energy")
    button(visited, "Step").click()
    one = visited.get("energy")
    assert visited.get("t") == pytest.approx(0.2) and one < start
    button(visited, "Play").click()
    visited.page.wait_for_function(f"{VIEW}.t > 2")
    button(visited, "Pause").click()
    stopped = visited.get("t")
    visited.page.wait_for_timeout(200)
    assert visited.get("t") == stopped and visited.get("energy") < one
    assert "tokens in" in visited.page.locator(".al-scene canvas").get_attribute("aria-label")
    masses = [
        float(m) for m in visited.page.locator(".al-lab tbody td:first-child").all_inner_texts()
    ]
    assert masses == sorted(masses, reverse=True) and 0 < sum(masses) <= 1.001
    button(visited, "Reset").click()
    assert (visited.get("t"), visited.get("energy")) == (0, start)
    visited.clean()


def test_it_settles_where_the_package_settles(lab):
    """ReLU descent in the lab ends at atoms, with the energy that `polish` finds from there."""
    import numpy as np

    import attention_landscape as al

    visited = lab("relu-descent", reduced_motion="reduce")
    page = visited.page
    page.evaluate(f"{VIEW}.model.set('speed', 2)")
    page.evaluate(f"for (let i = 0; i < 4000 && {VIEW}.residual > 1e-5; i++) {VIEW}.advance()")
    assert visited.get("residual") <= 1e-5
    tokens = page.evaluate(f"[...{VIEW}.points]")
    state = {k: page.evaluate(f"{VIEW}.get('{k}')") for k in ("beta", "weights", "directions")}
    directions = al.sphere.project(np.array(state["directions"])[:, :2])
    perceptron = al.Perceptron(directions, state["weights"], activation="relu")
    attention = al.Attention(state["beta"], log_scale=-state["beta"])
    point = al.polish(al.Landscape(attention, perceptron), al.Measure.from_angles(tokens))
    page.evaluate(f"{VIEW}.pause()")
    groups = page.inner_text(".al-lab caption")
    assert point.success and groups.startswith(f"{point.n_atoms} groups")
    energy = al.Landscape(attention, perceptron).energy(point.measure)
    assert visited.get("energy") == pytest.approx(energy, abs=1e-7)


def test_keyboard(lab):
    visited = lab()
    handle = visited.page.get_by_role("slider", name="neuron 1")
    before = visited.page.evaluate(f"{VIEW}.get('weights')[0]")
    handle.focus()
    visited.page.keyboard.press("ArrowUp")
    assert visited.page.evaluate(f"{VIEW}.get('weights')[0]") == pytest.approx(before + 0.05)
    angle = int(handle.get_attribute("aria-valuenow"))
    visited.page.keyboard.press("ArrowLeft")
    assert int(handle.get_attribute("aria-valuenow")) == angle + 5
    assert visited.page.evaluate("document.activeElement.getAttribute('aria-label')") == "neuron 1"
    visited.clean()


def test_touch_drags_a_neuron(lab):
    visited = lab(viewport={"width": 375, "height": 812}, is_mobile=True, has_touch=True)
    handle = visited.page.locator(".al-handle").first
    handle.scroll_into_view_if_needed()
    box, scene = handle.bounding_box(), visited.page.locator(".al-scene").bounding_box()
    centre = [scene["x"] + scene["width"] / 2, scene["y"] + scene["width"] / 2]
    touch = {"pointerId": 1, "pointerType": "touch", "isPrimary": True, "bubbles": True}
    client = {"clientX": box["x"] + 15, "clientY": box["y"] + 15}
    page = visited.page
    page.evaluate("Element.prototype.setPointerCapture = () => {}")  # synthetic events have none
    handle.dispatch_event("pointerdown", touch | client)
    up = {"clientX": centre[0], "clientY": centre[1] - 60}
    page.locator(".al-handle").first.dispatch_event("pointermove", touch | up)
    page.locator(".al-handle").first.dispatch_event("pointerup", touch | up)
    x, y, _ = page.evaluate(f"{VIEW}.get('directions')[0]")
    assert (x, y) == pytest.approx((0, 1), abs=1e-6)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_bad_numbers_are_told(lab):
    visited = lab()
    beta = visited.page.get_by_label("β", exact=True)
    beta.fill("-1")
    beta.press("Enter")
    assert "β must be between 0.01 and 1000; -1 was given" in visited.page.inner_text(".al-lab")
    assert visited.page.evaluate(f"{VIEW}.get('beta')") == 4
    tokens = visited.page.get_by_label("tokens", exact=True)
    tokens.fill("2000")
    tokens.press("Enter")
    assert visited.page.evaluate(f"{VIEW}.points.length") == 2000
    visited.clean()


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_scenes_respect_reduced_motion(lab, motion):
    visited = lab("sphere-descent", reduced_motion=motion)
    visited.page.wait_for_timeout(300)
    assert visited.page.evaluate(f"{VIEW}.landscape.d") == 3
    assert visited.page.evaluate(f"{VIEW}.get('playing')") is (motion == "no-preference")


def test_every_scene_runs(lab):
    visited = lab(reduced_motion="reduce")
    page = visited.page
    names = page.evaluate(
        "[...document.querySelectorAll('article li a')].map(a => a.hash.slice(1))"
    )
    scenes = page.evaluate("import('../_static/lab.js').then(lab => Object.keys(lab.PRESETS))")
    assert set(scenes) == set(names) - {""}
    for name in scenes:
        page.evaluate(f"location.hash = '{name}'")
        page.wait_for_timeout(50)
        page.evaluate(f"for (let i = 0; i < 20; i++) {VIEW}.advance()")
        assert page.evaluate(f"Number.isFinite({VIEW}.energy) && {VIEW}.t > 1"), name
    visited.clean()


def test_frame_rate(lab, capsys):
    """Milliseconds of simulation and drawing a frame, n = 500: printed, not judged."""
    visited = lab("relu-descent")
    visited.page.wait_for_function(f"{VIEW}.frames.length >= 300", timeout=120_000)
    median = statistics.median(visited.get("frames"))
    with capsys.disabled():
        print(f"\nlab: median of 300 frames with 500 tokens: {median:.1f} ms (target 12)")
    assert visited.get("points.length") == 500


def test_the_lab_without_scripts_says_so(chromium, site):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/lab.html")
    assert "needs JavaScript" in page.inner_text("article")
    context.close()
