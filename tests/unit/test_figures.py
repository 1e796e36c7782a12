"""The figures carry the data that they show, and refuse what they cannot draw."""

import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import attention_landscape as al
from attention_landscape import figures

DIRECTIONS = [[-0.99675, 0.08061], [-0.61985, -0.78472]]
WEIGHTS = [0.63246, -0.46968]
ANGLES = np.array([0.4, 1.7, 4.3, 6.1])
MASSES = np.array([0.1, 0.3, 0.4, 0.2])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.figure().add_subplot()


def landscape(activation="relu", d=2):
    perceptron = None
    if activation is not None:
        perceptron = (
            al.Perceptron(DIRECTIONS, WEIGHTS, activation=activation)
            if d == 2
            else al.Perceptron.random(d, rng=777, activation=activation)
        )
    return al.Landscape(al.Attention(beta=1.0), perceptron)


def atoms():
    return al.Measure.from_angles(ANGLES, MASSES)


def named(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def drawn(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


# circle portrait


def test_needles_have_the_angles_and_lengths_of_the_atoms(ax):
    assert figures.circle_portrait(landscape(), atoms(), ax=ax, title="Four") is ax
    assert ax.get_title() == "Four"
    (needles,) = named(ax, "needles")
    ends = np.array(needles.get_segments())
    assert np.allclose(np.linalg.norm(ends[:, 0], axis=1), 1.0)
    for end in (0, 1):
        angle = np.mod(np.arctan2(ends[:, end, 1], ends[:, end, 0]), 2 * np.pi)
        assert np.allclose(angle, ANGLES)
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    assert np.allclose(lengths / lengths.sum(), MASSES)
    (tips,) = named(ax, "tips")
    assert np.allclose(tips.get_offsets(), ends[:, 1])
    assert {"0.10", "0.30", "0.40", "0.20", "4 atoms"} <= set(texts(ax))


def test_histogram_has_area_proportional_to_mass(ax):
    mu = al.Measure.uniform(1000, 2, rng=42)
    figures.circle_portrait(landscape(None), mu, ax=ax)
    (bars,) = named(ax, "histogram")
    (ring,) = named(ax, "uniform")
    assert not named(ax, "needles")
    area = []
    middle = []
    for path in bars.get_paths():
        x, y = path.to_polygons()[0].T
        area.append(abs(np.sum(x[:-1] * np.diff(y) - y[:-1] * np.diff(x))) / 2)
        middle.append(np.mod(np.arctan2(y.mean(), x.mean()), 2 * np.pi))
    mass = np.array(area) / (np.pi * (ring.get_radius() ** 2 - 1))
    assert mass.sum() == pytest.approx(1.0, abs=1e-3)
    expected = np.histogram(mu.angles, bins=60, range=(0, 2 * np.pi))[0] / 1000
    assert np.allclose(mass, expected, atol=1e-4)
    assert np.allclose(middle, (np.arange(60) + 0.5) * 2 * np.pi / 60, atol=0.02)
    assert "1000 atoms" in texts(ax)


def test_converged_tokens_are_drawn_as_needles_and_chains_are_not(ax):
    spread = np.linspace(-2e-3, 2e-3, 100)
    mu = al.Measure.from_angles(np.concatenate([1 + spread, 4 + spread, 2 * np.pi + spread]))
    figures.circle_portrait(landscape(None), mu, ax=ax)
    (needles,) = named(ax, "needles")
    assert len(needles.get_segments()) == 3
    other = plt.figure().add_subplot()
    many = al.Measure.from_angles(np.arange(5000) * 2 * np.pi / 5000)  # a chain all round
    figures.circle_portrait(landscape(None), many, ax=other)
    assert named(other, "histogram")
    arc = plt.figure().add_subplot()
    figures.circle_portrait(landscape(None), al.Measure.from_angles(np.linspace(0, 1, 999)), ax=arc)
    assert named(arc, "histogram")


def test_close_atoms_stay_apart_and_the_longest_needle_is_labelled(ax):
    mu = al.Measure.from_angles([1.0, 1.01], [0.25, 0.75])
    figures.circle_portrait(landscape(None), mu, ax=ax)
    assert len(named(ax, "needles")[0].get_segments()) == 2
    assert "0.75" in texts(ax) and "0.25" not in texts(ax)


def test_one_dirac_and_tiny_masses(ax):
    figures.circle_portrait(landscape(), al.Measure.from_angles([2.0]), ax=ax)
    assert {"1 atom", "1.00"} <= set(texts(ax))
    other = plt.figure().add_subplot()
    mu = al.Measure.from_angles([0.0, 2.0], [0.003, 0.997])
    figures.circle_portrait(landscape(), mu, ax=other)
    assert "0.003" in texts(other)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_sign_of_the_potential_is_hatched_and_written(ax, activation):
    land = landscape(activation)
    figures.circle_portrait(land, atoms(), ax=ax)
    angles = np.linspace(0, 2 * np.pi, 721)[:-1] + 1e-3
    x = al.sphere.from_angles(angles)
    v = land.perceptron.potential(x)

    def covered(gid):
        wedges = named(ax, gid)
        assert all(w.get_hatch() for w in wedges)
        return np.any(
            [np.mod(np.degrees(angles) - w.theta1, 360) < w.theta2 - w.theta1 for w in wedges],
            axis=0,
        )

    assert np.mean(covered("negative") != (v < 0)) < 0.01
    if activation == "relu":
        assert np.mean(covered("inactive") != land.perceptron.inactive(x)) < 0.01
    else:
        assert not named(ax, "inactive")
    for text in ax.texts:
        if text.get_text() in "+−":
            place = al.sphere.project([text.get_position()])
            sign = 1 if text.get_text() == "+" else -1
            assert sign * land.perceptron.potential(place)[0] > 0
    assert {"+", "−"} <= set(texts(ax))
    (image,) = named(ax, "potential")
    assert image.norm.vmax == -image.norm.vmin == pytest.approx(np.abs(v).max(), rel=1e-4)
    pixels = image.get_array()  # the middle of the left edge is the angle pi
    assert pixels[250, 0] == pytest.approx(land.perceptron.potential([[-1.0, 0.0]])[0], abs=1e-4)


def test_a_sector_that_passes_the_angle_zero_or_covers_the_circle(ax):
    negative = al.Perceptron([[1.0, 0.0]], [-1.0])
    figures.circle_portrait(al.Landscape(al.Attention(beta=1.0), negative), atoms(), ax=ax)
    (wedge,) = named(ax, "negative")
    assert (wedge.theta1, wedge.theta2) == pytest.approx((270, 450), abs=0.5)
    everywhere = al.Perceptron([[0.1, 0.0]], [-1.0], [1.0])
    other = plt.figure().add_subplot()
    figures.circle_portrait(al.Landscape(al.Attention(beta=1.0), everywhere), atoms(), ax=other)
    (wedge,) = named(other, "negative")
    assert wedge.theta2 - wedge.theta1 == pytest.approx(360)


def test_neurons_are_arrows_dashed_when_negative(ax):
    figures.circle_portrait(landscape(), atoms(), ax=ax)
    for j in (0, 1):
        (arrow,) = named(ax, f"neuron {j + 1}")
        tip = np.array(arrow._posA_posB[1])
        assert np.allclose(tip / np.linalg.norm(tip), DIRECTIONS[j], atol=1e-4)
        assert (arrow.get_linestyle() in ("-", "solid")) == (WEIGHTS[j] > 0)
        assert f"$a_{{{j + 1}}}$" in texts(ax)


def test_a_zero_neuron_has_no_arrow_and_many_have_no_labels(ax):
    directions = np.vstack([np.zeros(2), al.sphere.uniform(13, 2, rng=0)])
    perceptron = al.Perceptron(directions, np.ones(14))
    figures.circle_portrait(al.Landscape(al.Attention(beta=1.0), perceptron), atoms(), ax=ax)
    assert not named(ax, "neuron 1") and named(ax, "neuron 2")
    assert not any(text.startswith("$a_") for text in texts(ax))


def test_pure_attention_and_zero_weights_are_plain(ax):
    figures.circle_portrait(landscape(None), atoms(), ax=ax)
    assert not named(ax, "potential") and not named(ax, "negative")
    flat = al.Landscape(al.Attention(beta=1.0), al.Perceptron(DIRECTIONS, [0.0, 0.0]))
    other = plt.figure().add_subplot()
    figures.circle_portrait(flat, atoms(), ax=other)
    assert not named(other, "negative") and "+" not in texts(other)


def test_limit_sets_where_the_colours_saturate(ax):
    figures.circle_portrait(landscape(), atoms(), ax=ax, limit=2.0)
    assert named(ax, "potential")[0].norm.vmax == 2.0


def test_a_portrait_of_its_own_has_a_key():
    figure = figures.circle_portrait(landscape(), atoms()).figure
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"no neuron active", "neuron, $w_j < 0$", "atom (length: mass)"} <= set(labels)
    pixels = drawn(figure)
    assert (pixels[0, 0] == 255).all()  # opaque white
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


# sphere portrait


def test_dots_have_the_places_and_areas_of_the_atoms(ax):
    points = al.sphere.project([[1, 0, 0], [-1, 0, 0], [0, 1, 1.0]])
    mu = al.Measure(points, [0.5, 0.3, 0.2])
    result = figures.sphere_portrait(
        landscape("gelu", 3), mu, ax=ax, title="S2", elevation=0.0, azimuth=0.0
    )
    assert result is ax and ax.get_title() == "S2"
    (front,), (back,) = named(ax, "front"), named(ax, "back")
    assert np.allclose(front.get_offsets(), [[0, 0], [2**-0.5, 2**-0.5]])
    assert np.allclose(back.get_offsets(), [[0, 0]])
    sizes = np.concatenate([front.get_sizes(), back.get_sizes()])
    assert np.allclose(sizes / sizes.sum(), [0.5, 0.2, 0.3])
    assert back.get_facecolor().size == 0 or back.get_facecolor()[0, 3] == 0
    assert named(ax, "negative")[0].get_hatch()
    assert "3 atoms, heaviest 0.50" in texts(ax)


def test_the_sphere_shows_the_potential_seen_from_the_viewer(ax):
    land = landscape("relu", 3)
    figures.sphere_portrait(land, al.Measure.uniform(50, 3, rng=0), ax=ax, elevation=90.0)
    (image,) = named(ax, "potential")
    pixels = image.get_array()
    pole = land.perceptron.potential([[0.0, 0.0, 1.0]])[0]
    assert pixels[120, 120] == pytest.approx(pole, abs=1e-12)
    assert named(ax, "inactive")


def test_coincident_atoms_on_the_sphere_are_one_dot(ax):
    mu = al.Measure(np.repeat([[1.0, 0.0, 0.0]], 5, axis=0))
    figures.sphere_portrait(landscape(None, 3), mu, ax=ax)
    assert len(named(ax, "front")[0].get_offsets()) == 1


def test_a_sphere_of_its_own_has_a_key():
    figure = figures.sphere_portrait(landscape("relu", 3), al.Measure.uniform(9, 3, rng=0)).figure
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"atom in front", "atom behind", "neuron (hollow: behind)"} <= set(labels)
    drawn(figure)


# grids


def test_grid_shares_one_scale_and_has_one_key():
    big = al.Landscape(al.Attention(beta=1.0), al.Perceptron(DIRECTIONS, [5.0, -1.0]))
    rows = [
        [(landscape(), atoms(), "a"), (big, atoms(), "b")],
        [(landscape(None), al.Measure.uniform(100, 2, rng=0), "c")],
    ]
    figure = figures.portrait_grid(rows)
    first, second, third, empty = figure.axes[:4]
    assert [ax.get_title() for ax in (first, second, third)] == ["a", "b", "c"]
    limits = [named(ax, "potential")[0].norm.vmax for ax in (first, second)]
    assert limits[0] == limits[1] == pytest.approx(5.0, rel=0.1)
    assert not empty.has_data()
    assert len(figure.legends) == 1
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "uniform law" in labels
    drawn(figure)


def test_grid_takes_spheres_and_pure_attention_without_a_key_of_colours():
    mu = al.Measure.uniform(9, 3, rng=0)
    figure = figures.portrait_grid([[(landscape(None, 3), mu, "x")] * 3], limit=1.0)
    assert len(figure.axes) == 3  # no colour bar
    assert figure.get_figwidth() == 7.0


# curves


def test_potential_plot(ax):
    relu = landscape().perceptron
    assert figures.potential_plot({"one": relu, "two": landscape("gelu").perceptron}, ax=ax) is ax
    curves = [line for line in ax.lines if line.get_label() in ("one", "two")]
    x, y = curves[0].get_data()
    assert np.allclose(y, relu.potential(al.sphere.from_angles(x)))
    assert curves[0].get_linestyle() != curves[1].get_linestyle()
    figures.potential_plot(relu)


def test_first_variation_plot(ax):
    land, mu = landscape(), atoms()
    assert figures.first_variation_plot(land, mu, ax=ax) is ax
    values = land.first_variation(mu, mu.points)
    (dots,) = named(ax, "atoms")
    assert np.allclose(dots.get_offsets(), np.column_stack([ANGLES, values]))
    assert np.allclose(dots.get_sizes() / dots.get_sizes().sum(), MASSES)
    x, y = ax.lines[0].get_data()
    assert np.allclose(y, land.first_variation(mu, al.sphere.from_angles(x)))
    assert ax.lines[1].get_ydata()[0] == pytest.approx(MASSES @ values)


def test_energy_trace_of_a_trajectory_and_of_a_pair(ax):
    path = al.gradient_flow(landscape(), atoms(), t_max=1.0, t_eval=[0.0, 0.5, 1.0])
    assert figures.energy_trace(path, ax=ax, label="descent") is ax
    figures.energy_trace(([0, 1], [2, 3]), ax=ax)
    assert np.array_equal(ax.lines[0].get_xdata(), path.t)
    assert np.array_equal(ax.lines[0].get_ydata(), path.energies)
    assert np.array_equal(ax.lines[1].get_ydata(), [2, 3])
    assert "time" in ax.get_xlabel() and "energy" in ax.get_ylabel()
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()


def test_spectrum_marks_the_signs_by_shape(ax):
    assert figures.hessian_spectrum([0.5, -0.2, 1e-12, 2.0], ax=ax, tol=1e-9) is ax
    assert np.allclose(named(ax, "positive")[0].get_offsets(), [[3, 0.5], [4, 2.0]])
    assert np.allclose(named(ax, "zero")[0].get_offsets(), [[2, 0.0]])
    assert np.allclose(named(ax, "negative")[0].get_offsets(), [[1, -0.2]])
    shapes = [named(ax, k)[0].get_paths()[0].vertices.tobytes() for k in ("positive", "negative")]
    assert shapes[0] != shapes[1]
    assert ax.get_legend().get_title().get_text() == "smallest: −0.2"


def test_spectrum_of_one_sign_and_of_zeros(ax):
    figures.hessian_spectrum([0.0, 0.0], ax=ax)
    assert named(ax, "zero") and not named(ax, "positive") and not named(ax, "negative")


def test_convergence_plot_fits_where_told(ax):
    dt = np.array([1e-3, 1e-2, 1e-1, 1.0])
    errors = np.array([1e-3, 1e-2, 1e-1, 50.0])
    curves = {"layer": errors, "RK4": dt**4}
    assert figures.convergence_plot(dt, curves, ax=ax, fit_range=(0, 0.5)) is ax
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["layer: slope 1.00", "RK4: slope 4.00"]
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert np.array_equal(ax.lines[0].get_ydata(), errors)
    assert ax.lines[0].get_marker() != ax.lines[2].get_marker()
    assert np.allclose(ax.lines[1].get_data(), [[1e-3, 1e-1], [1e-3, 1e-1]])
    figures.convergence_plot(dt, dt**-0.5, ax=ax)
    assert "slope −0.50" in ax.get_legend_handles_labels()[1]
    assert figures.fitted_slope(dt, dt**2) == pytest.approx(2.0)


def test_new_figures_when_there_is_no_ax():
    results = [
        figures.first_variation_plot(landscape(), atoms()),
        figures.energy_trace(([0.0], [1.0])),
        figures.hessian_spectrum([1.0]),
        figures.convergence_plot([1, 2], [1, 2]),
    ]
    assert len({id(result.figure) for result in results}) == 4
    for result in results:
        drawn(result.figure)


# what cannot be drawn

MU3 = al.Measure.uniform(5, 3, rng=0)
BAD = [
    ("landscape", lambda: figures.circle_portrait("x", atoms())),
    ("landscape", lambda: figures.circle_portrait(landscape("relu", 3), atoms())),
    ("measure", lambda: figures.circle_portrait(landscape(), [1.0])),
    ("measure", lambda: figures.circle_portrait(landscape(), MU3)),
    ("limit", lambda: figures.circle_portrait(landscape(), atoms(), limit=0.0)),
    ("title", lambda: figures.circle_portrait(landscape(), atoms(), title=3)),
    ("ax", lambda: figures.circle_portrait(landscape(), atoms(), ax="x")),
    ("measure", lambda: figures.sphere_portrait(landscape(None), atoms())),
    ("elevation", lambda: figures.sphere_portrait(landscape(None), MU3, elevation=np.nan)),
    ("azimuth", lambda: figures.sphere_portrait(landscape(None), MU3, azimuth="x")),
    ("rows", lambda: figures.portrait_grid([])),
    ("rows", lambda: figures.portrait_grid([[]])),
    ("rows", lambda: figures.portrait_grid([[1]])),
    ("rows", lambda: figures.portrait_grid([(landscape(), atoms(), "a")])),
    ("landscape", lambda: figures.portrait_grid([[(1, atoms(), "a")]])),
    ("measure", lambda: figures.portrait_grid([[(landscape(), 1, "a")]])),
    ("limit", lambda: figures.portrait_grid([[(landscape(), atoms(), "a")]], limit=-1)),
    ("perceptrons", lambda: figures.potential_plot({})),
    ("perceptrons", lambda: figures.potential_plot([1])),
    ("perceptrons", lambda: figures.potential_plot(landscape("relu", 3).perceptron)),
    ("measure", lambda: figures.first_variation_plot(landscape(None), MU3)),
    ("trajectory", lambda: figures.energy_trace([1.0, 2.0, 3.0])),
    ("trajectory", lambda: figures.energy_trace(([0, 1], [1]))),
    ("trajectory", lambda: figures.energy_trace(([0, np.nan], [1, 2]))),
    ("values", lambda: figures.hessian_spectrum([])),
    ("values", lambda: figures.hessian_spectrum([np.nan])),
    ("tol", lambda: figures.hessian_spectrum([1.0], tol=-1.0)),
    ("errors", lambda: figures.convergence_plot([1, 2], {})),
    ("errors", lambda: figures.convergence_plot([1, 2], [1, 0])),
    ("errors", lambda: figures.convergence_plot([1, 2], [1])),
    ("sizes", lambda: figures.convergence_plot([0, 2], [1, 1])),
    ("sizes", lambda: figures.convergence_plot([2, 2], [1, 1])),
    ("fit_range", lambda: figures.convergence_plot([1, 2], [1, 2], fit_range=(2, 1))),
]


@pytest.mark.parametrize(("name", "call"), BAD, ids=[f"{i}-{b[0]}" for i, b in enumerate(BAD)])
def test_bad_input_is_named(name, call):
    with pytest.raises(ValueError, match=rf"^{name} must"):
        call()
    assert not plt.get_fignums()  # nothing half drawn is left


# the module


def test_figures_are_opaque_white_with_dark_text():
    figures.style()
    assert plt.rcParams["figure.facecolor"] == plt.rcParams["savefig.facecolor"] == "#FFFFFF"
    assert min(plt.rcParams[k] for k in ("font.size", "xtick.labelsize", "legend.fontsize")) >= 10


def test_the_package_does_not_import_matplotlib():
    code = (
        "import sys, attention_landscape as al\n"
        "assert 'matplotlib' not in sys.modules\n"
        "al.figures.circle_portrait\n"
        "assert 'matplotlib' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
