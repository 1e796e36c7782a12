"""Single linkage of points on the sphere, and the means of the classes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from . import sphere
from ._checks import Array

#: Above this many close pairs, points closer than ``tol / 1000`` are joined first.
MANY_PAIRS = 2e7


def merge_circle(x: Array, m: Array, tol: float) -> tuple[Array, Array]:
    """Points and masses after single linkage on the circle, sorted by angle."""
    angles = sphere.to_angles(x)
    order = np.argsort(angles, kind="stable")
    x, m, angles = x[order], m[order], angles[order]
    n = m.size
    gaps = np.diff(angles, append=angles[0] + 2 * np.pi)
    cuts = np.flatnonzero(gaps > tol)
    if cuts.size == 0 and n > 1:  # one chain around the circle: cut at the widest gap
        cuts = np.array([int(np.argmax(gaps))])
    start = int((cuts[-1] + 1) % n) if n > 1 else 0
    # unroll from the first atom after a cut, so that each chain is an increasing run
    unrolled = np.roll(angles, -start)
    unrolled = unrolled + 2 * np.pi * (unrolled < unrolled[0])
    rolled_m, rolled_x = np.roll(m, -start), np.roll(x, -start, axis=0)
    firsts = np.concatenate([[0], np.flatnonzero(np.roll(gaps, -start)[:-1] > tol) + 1])
    if cuts.size == 1:
        firsts = np.array([0])
    sizes = np.diff(firsts, append=n)
    base = unrolled[firsts]
    mass = np.add.reduceat(rolled_m, firsts)
    offset = np.add.reduceat(rolled_m * (unrolled - np.repeat(base, sizes)), firsts) / mass
    points = sphere.from_angles(base + offset)
    alone = (sizes == 1) | (offset == 0)
    points[alone] = rolled_x[firsts[alone]]  # an atom that stays put keeps its coordinates
    order = np.argsort(sphere.to_angles(points), kind="stable")
    return points[order], np.asarray(mass[order], dtype=np.float64)


def merge_sphere(x: Array, m: Array, tol: float) -> tuple[Array, Array]:
    """Points and masses after single linkage in any dimension, by first appearance."""
    labels = linkage(x, tol)
    k = int(labels.max()) + 1
    mass = np.bincount(labels, weights=m, minlength=k)
    first = np.full(k, x.shape[0])
    np.minimum.at(first, labels, np.arange(x.shape[0]))
    mean = _label_sums(labels, m[:, None] * (x - x[first[labels]]), k) / mass[:, None]
    points = sphere.project(x[first] + mean)
    for _ in range(100):  # Karcher's iteration for the Frechet mean
        shift = _label_sums(labels, m[:, None] * sphere._log(points[labels], x), k)
        shift /= mass[:, None]
        points = sphere._exp(points, shift)
        if np.abs(shift).max() < 1e-15:
            break
    alone = (np.bincount(labels, minlength=k) == 1) | (mean == 0).all(axis=1)
    points[alone] = x[first[alone]]
    return points, np.asarray(mass, dtype=np.float64)


def _label_sums(labels: NDArray[np.intp], values: Array, k: int) -> Array:
    columns = [np.bincount(labels, weights=column, minlength=k) for column in values.T]
    return np.stack(columns, axis=1)


def linkage(x: Array, tol: float) -> NDArray[np.intp]:
    """Label the classes of single linkage at geodesic distance ``tol``, by first appearance."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    n = x.shape[0]
    if tol >= np.pi:
        return np.zeros(n, dtype=np.intp)
    chord = 2 * math.sin(tol / 2)
    tree = cKDTree(x)
    cell = None
    if n > 5000 and tree.count_neighbors(tree, chord) > 2 * MANY_PAIRS:
        side = chord / 1000 / math.sqrt(x.shape[1])
        _, index, cell = np.unique(
            np.floor(x / side), axis=0, return_index=True, return_inverse=True
        )
        tree = cKDTree(x[index])
    pairs = tree.query_pairs(chord * (1 + 1e-15), output_type="ndarray")
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(tree.n, tree.n))
    labels = connected_components(graph, directed=False)[1]
    if cell is not None:
        labels = labels[cell.ravel()]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.intp)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse]
