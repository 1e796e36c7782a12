// The live lab: tokens that move on the circle or the sphere, in one module.
// First the mathematics (no page needed; tests compare it with the Python package), then the view.
// Kernel e^{beta (x.y - 1)}, equal masses, unit directions a_j, no biases.

// ---------------------------------------------------------------- activations

/** The error function, by a series of positive terms. */
export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, sum = x;
  for (let k = 1; k < 200 && Math.abs(term) > 1e-17 * Math.abs(sum); k++) {
    term *= (2 * x * x) / (2 * k + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** Bernoulli numbers B_2, B_4, ..., for the dilogarithm. */
const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510];

/** Li2(x) for -1 <= x <= 0, by its series in log(1 - x). */
function dilogarithm(x) {
  const u = -Math.log1p(-x);
  let sum = u - (u * u) / 4, power = u, factorial = 1;
  BERNOULLI.forEach((b, k) => {
    power *= u * u;
    factorial *= (2 * k + 2) * (2 * k + 3);
    sum += (b * power) / factorial;
  });
  return sum;
}

const ramp = (left) => ({
  sigma: (s) => (s > 0 ? s : left * s),
  phi: (s) => (s > 0 ? 1 : left) * s * s,
  curvature: 1,
});
const half = (s) => erf(s / Math.SQRT2) / 2;
const normal = (s) => Math.exp((-s * s) / 2) / Math.sqrt(2 * Math.PI);

/** sigma, its primitive phi (phi' = 2 sigma, phi(0) = 0), and a bound of |sigma'|. */
export const ACTIVATIONS = {
  relu: ramp(0),
  gelu: {
    sigma: (s) => s * (0.5 + half(s)),
    phi: (s) => (s * s) / 2 + (s * s - 1) * half(s) + s * normal(s),
    curvature: 1.13,
  },
  tanh: {
    sigma: Math.tanh,
    phi: (s) => 2 * (Math.abs(s) + Math.log1p(Math.exp(-2 * Math.abs(s))) - Math.LN2),
    curvature: 1,
  },
  softplus: {
    sigma: (s) => Math.max(s, 0) + Math.log1p(Math.exp(-Math.abs(s))),
    phi: (s) => {
      const tail = 2 * (dilogarithm(-Math.exp(-Math.abs(s))) - dilogarithm(-1));
      return s > 0 ? s * s + tail : -tail;
    },
    curvature: 1,
  },
  leaky_relu: ramp(0.01),
  identity: { sigma: (s) => s, phi: (s) => s * s, curvature: 1 },
};

// ------------------------------------------------------------------ landscape

/** I_k(beta) e^{-beta} for k = 0..K, by downward recurrence, until they vanish. */
export function scaledBessel(beta) {
  const values = [];
  let last = 0, now = 1e-280, k = 2 * Math.ceil(20 + 1.5 * beta + 8 * Math.sqrt(beta));
  for (; k > 0; k--) {
    values[k] = now;
    [last, now] = [now, last + ((2 * k) / beta) * now];
    if (now > 1e250) {
      for (let j = k; j < values.length; j++) values[j] *= 1e-250;
      last *= 1e-250;
      now *= 1e-250;
    }
  }
  values[0] = now;
  const total = values.reduce((sum, value) => sum + 2 * value, -now);
  const scaled = values.map((value) => value / total);
  let size = scaled.length;
  while (size > 1 && scaled[size - 1] * size * size < 1e-18 * scaled[0]) size--;
  return scaled.slice(0, size);
}

/**
 * A landscape: {d, beta, activation, directions, weights, normalization}; directions are unit.
 * Points are flat: angles when d = 2, unit vectors one after the other when d = 3.
 */
export function makeLandscape(options) {
  const { d, beta, directions, weights, normalization } = options;
  const { sigma, phi, curvature } = ACTIVATIONS[options.activation];
  const softmax = normalization === "softmax";
  const bessel = d === 2 ? scaledBessel(beta) : null;
  const neurons = directions.map((a, j) => ({ a, w: weights[j], angle: Math.atan2(a[1], a[0]) }));

  /** v at a point: an angle, or coordinates. */
  function potential(x, y, z) {
    let sum = 0;
    for (const { a, w, angle } of neurons) {
      sum += w * phi(d === 2 ? Math.cos(x - angle) : a[0] * x + a[1] * y + a[2] * z);
    }
    return sum;
  }

  /** Attention's f and f' at all angles, in O(n K): Funk-Hecke on the circle. */
  function circleSums(angles) {
    const n = angles.length, value = new Float64Array(n), slope = new Float64Array(n);
    const cos1 = Float64Array.from(angles, Math.cos), sin1 = Float64Array.from(angles, Math.sin);
    const cos = new Float64Array(n).fill(1), sin = new Float64Array(n);
    value.fill(bessel[0]);
    for (let k = 1; k < bessel.length; k++) {
      let re = 0, im = 0;
      for (let i = 0; i < n; i++) {
        const c = cos[i] * cos1[i] - sin[i] * sin1[i];
        sin[i] = sin[i] * cos1[i] + cos[i] * sin1[i];
        cos[i] = c;
        re += c;
        im += sin[i];
      }
      re *= (2 * bessel[k]) / n;
      im *= (2 * bessel[k]) / n;
      for (let i = 0; i < n; i++) {
        value[i] += re * cos[i] + im * sin[i];
        slope[i] += k * (im * cos[i] - re * sin[i]);
      }
    }
    return { value, slope };
  }

  /** The same on the sphere, from all pairs: f, and the sum of its ambient gradient over beta. */
  function sphereSums(x) {
    const n = x.length / 3, value = new Float64Array(n), pull = new Float64Array(3 * n);
    for (let i = 0; i < n; i++) {
      const a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
      value[i] += 1 / n;
      pull[3 * i] += a / n;
      pull[3 * i + 1] += b / n;
      pull[3 * i + 2] += c / n;
      for (let j = 0; j < i; j++) {
        const p = x[3 * j], q = x[3 * j + 1], r = x[3 * j + 2];
        const kernel = Math.exp(beta * (a * p + b * q + c * r - 1)) / n;
        value[i] += kernel;
        value[j] += kernel;
        pull[3 * i] += kernel * p;
        pull[3 * i + 1] += kernel * q;
        pull[3 * i + 2] += kernel * r;
        pull[3 * j] += kernel * a;
        pull[3 * j + 1] += kernel * b;
        pull[3 * j + 2] += kernel * c;
      }
    }
    return { value, pull };
  }

  /** The energy of equal masses at the points. */
  function energy(points) {
    const { value } = d === 2 ? circleSums(points) : sphereSums(points);
    let sum = 0;
    for (let i = 0; i < value.length; i++) {
      sum += value[i] / beta;
      sum += d === 2 ? potential(points[i])
        : potential(points[3 * i], points[3 * i + 1], points[3 * i + 2]);
    }
    return sum / (2 * value.length);
  }

  /** The field: slopes in the angle when d = 2, tangent vectors when d = 3. */
  function field(points) {
    if (d === 2) {
      const { value, slope } = circleSums(points);
      for (let i = 0; i < points.length; i++) {
        slope[i] /= softmax ? beta * value[i] : beta;
        for (const { w, angle } of neurons) {
          const t = points[i] - angle;
          slope[i] -= w * sigma(Math.cos(t)) * Math.sin(t);
        }
      }
      return slope;
    }
    const { value, pull } = sphereSums(points);
    for (let i = 0; i < value.length; i++) {
      const x = points.subarray(3 * i, 3 * i + 3), f = pull.subarray(3 * i, 3 * i + 3);
      if (softmax) for (let c = 0; c < 3; c++) f[c] /= value[i];
      for (const { a, w } of neurons) {
        const s = w * sigma(a[0] * x[0] + a[1] * x[1] + a[2] * x[2]);
        for (let c = 0; c < 3; c++) f[c] += s * a[c];
      }
      const normalPart = f[0] * x[0] + f[1] * x[1] + f[2] * x[2];
      for (let c = 0; c < 3; c++) f[c] -= normalPart * x[c];
    }
    return pull;
  }

  /** One projected Runge-Kutta step of order 4; every stage is projected to the sphere. */
  function step(points, dt) {
    const stages = [], slopes = [];
    for (const fraction of [0, 1 / 2, 1 / 2, 1]) {
      const last = slopes.at(-1);
      stages.push(last ? move(points, stages.at(-1), last, fraction * dt) : points);
      slopes.push(field(stages.at(-1)));
    }
    if (d === 2) {
      return points.map((angle, i) => {
        let along = 0, out = 1;
        [1, 2, 2, 1].forEach((weight, k) => {
          const turn = stages[k][i] - angle, size = (dt / 6) * weight * slopes[k][i];
          along += size * Math.cos(turn);
          out -= size * Math.sin(turn);
        });
        return angle + Math.atan2(along, out);
      });
    }
    const sum = points.map((x, i) => x + (dt / 6)
      * (slopes[0][i] + 2 * slopes[1][i] + 2 * slopes[2][i] + slopes[3][i]));
    return normalized(sum);
  }

  /** Points moved along slopes that were taken at other points, and projected. */
  function move(points, at, slopes, h) {
    if (d === 3) return normalized(points.map((x, i) => x + h * slopes[i]));
    return points.map((angle, i) => {
      const turn = at[i] - angle, size = h * slopes[i];
      return angle + Math.atan2(size * Math.cos(turn), 1 - size * Math.sin(turn));
    });
  }

  /** The largest norm of the field over the points. */
  function residual(points) {
    const f = field(points);
    let worst = 0;
    for (let i = 0; i < f.length; i += d === 2 ? 1 : 3) {
      worst = Math.max(worst, d === 2 ? Math.abs(f[i]) : Math.hypot(f[i], f[i + 1], f[i + 2]));
    }
    return worst;
  }

  // softmax divides the kernel's slope by f, which can be as small as 1/n
  const stiffness = (softmax ? 1 + beta / 2 : 1)
    + 2 * curvature * weights.reduce((sum, w) => sum + Math.abs(w), 0);
  return { d, potential, energy, field, step, residual, stiffness };
}

/** Unit vectors from rows of three. */
function normalized(x) {
  for (let i = 0; i < x.length; i += 3) {
    const length = Math.hypot(x[i], x[i + 1], x[i + 2]);
    x[i] /= length;
    x[i + 1] /= length;
    x[i + 2] /= length;
  }
  return x;
}

/** Random numbers in (0, 1) from a seed (mulberry32): the same tokens on each device. */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}

/** n independent uniform points. */
export function uniformPoints(n, d, seed) {
  const random = generator(seed), points = new Float64Array(d === 2 ? n : 3 * n);
  for (let i = 0; i < n; i++) {
    const angle = 2 * Math.PI * random();
    if (d === 2) {
      points[i] = angle;
    } else {
      const height = 2 * random() - 1, radius = Math.sqrt(1 - height * height);
      points.set([radius * Math.cos(angle), radius * Math.sin(angle), height], 3 * i);
    }
  }
  return points;
}

/** Groups of points in which each is within `tol` of another: [{mass, x}], the heaviest first. */
export function atoms(points, d, tol = 0.02) {
  const n = d === 2 ? points.length : points.length / 3;
  const unit = (i) => (d === 2 ? [Math.cos(points[i]), Math.sin(points[i]), 0]
    : [points[3 * i], points[3 * i + 1], points[3 * i + 2]]);
  const parent = Int32Array.from({ length: n }, (_, i) => i);
  const root = (i) => { while (parent[i] !== i) i = parent[i] = parent[parent[i]]; return i; };
  const x = Array.from({ length: n }, (_, i) => unit(i)), near = 4 * Math.sin(tol / 2) ** 2;
  // sweep along the first axis: only neighbours in it can be close
  const order = Array.from(x.keys()).sort((i, j) => x[i][0] - x[j][0]);
  for (let p = 0; p < n; p++) {
    for (let q = p - 1; q >= 0 && x[order[p]][0] - x[order[q]][0] <= tol; q--) {
      const [a, b] = [root(order[p]), root(order[q])];
      if (a === b) continue;
      const [u, v] = [x[order[p]], x[order[q]]];
      if ((u[0] - v[0]) ** 2 + (u[1] - v[1]) ** 2 + (u[2] - v[2]) ** 2 <= near) parent[a] = b;
    }
  }
  const groups = new Map();
  for (let i = 0; i < n; i++) {
    const group = groups.get(root(i)) ?? { mass: 0, x: [0, 0, 0] };
    group.mass += 1 / n;
    for (let c = 0; c < 3; c++) group.x[c] += x[i][c];
    groups.set(root(i), group);
  }
  for (const group of groups.values()) normalized(group.x);
  return [...groups.values()].sort((a, b) => b.mass - a.mass);
}

// ----------------------------------------------------------------------- state

/** What the lab starts with; Python sets the same names. */
export const DEFAULTS = {
  d: 2,
  beta: 4,
  direction: "descent",
  normalization: "unnormalized",
  activation: "relu",
  directions: [[-0.99675, 0.08061, 0], [-0.61985, -0.78472, 0]],
  weights: [0.63246, -0.46968],
  n: 300,
  seed: 7,
  speed: 0.2,
  playing: false,
  t: 0,
  energy: 0,
  residual: 0,
  start: null, // tokens given by Python, instead of a seed
  tokens: null, // where they are now
};

/** Scenes of the chapters; their names are the anchors of the page. */
export const PRESETS = {
  "pure-ascent": { direction: "ascent", weights: [], directions: [], beta: 9 },
  "pure-descent": { direction: "descent", weights: [], directions: [], beta: 4 },
  "relu-descent": { activation: "relu", beta: 1, n: 500 },
  "gelu-descent": { activation: "gelu", beta: 1, n: 500 },
  "gelu-ascent": { activation: "gelu", direction: "ascent", beta: 1, n: 500 },
  "softmax-descent": { normalization: "softmax", activation: "gelu", beta: 4 },
  "sphere-descent": {
    d: 3, n: 200, beta: 4, activation: "gelu",
    directions: [[0.8, -0.5, 0.33], [-0.3, -0.85, -0.43], [0.1, 0.5, 0.86]], weights: [0.6, -0.5, 0.4],
  },
  "diffuse-quadratic": {
    activation: "identity", beta: 4, weights: [0.02], directions: [[1, 0, 0]], n: 500,
  },
};

/** A state without Python, with the interface of a widget's model. */
export function localModel(values) {
  const state = { ...structuredClone(DEFAULTS), ...structuredClone(values) }, listeners = [];
  return {
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      listeners.filter(([event]) => event === `change:${name}`).forEach(([, call]) => call());
    },
    on: (event, call) => listeners.push([event, call]),
    off: (event, call) => listeners.splice(listeners.findIndex((x) => x[1] === call), 1),
    save_changes() {},
  };
}

// ------------------------------------------------------------------------ view

const COLOURS = { positive: [213, 94, 0], negative: [0, 114, 178], tokens: "#006847" };

const STYLE = `
.al-lab { --ink: #1b1b1b; --paper: #fff; --soft: #666; --edge: #8a8a8a; --tokens: #006847;
  color: var(--ink); background: var(--paper); font: 15px/1.4 system-ui, sans-serif;
  border: 1px solid var(--edge); border-radius: 6px; padding: 12px; max-width: 980px; }
.al-lab.al-dark { --ink: #ececec; --paper: #16191f; --soft: #b5b5b5; --edge: #777; --tokens: #58c79a; }
.al-lab * { box-sizing: border-box; }
.al-lab .al-row { display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; }
.al-lab .al-columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 14px; }
@media (max-width: 700px) { .al-lab .al-columns { grid-template-columns: minmax(0, 1fr); } }
.al-lab label { display: flex; flex-wrap: wrap; gap: 2px 6px; align-items: center; }
.al-lab fieldset { border: 1px solid var(--edge); border-radius: 4px; margin: 8px 0; padding: 4px 10px 8px; min-width: 0; }
.al-lab legend { font-weight: 600; padding: 0 4px; float: none; width: auto; font-size: inherit; margin: 0; }
.al-lab button, .al-lab select, .al-lab input { font: inherit; color: var(--ink); background: var(--paper);
  border: 1px solid var(--edge); border-radius: 4px; min-height: 34px; padding: 2px 8px; }
.al-lab input[type=range] { padding: 0; width: 130px; accent-color: var(--tokens); }
.al-lab input[type=number] { width: 84px; }
.al-lab button { cursor: pointer; min-width: 44px; }
.al-lab button:hover { border-color: var(--ink); }
.al-lab :focus-visible { outline: 3px solid #d55e00; outline-offset: 2px; }
.al-lab .al-scene { position: relative; width: 100%; max-width: 460px; margin: 0 auto; }
.al-lab canvas { display: block; width: 100%; }
.al-lab .al-handle { position: absolute; width: 30px; height: 30px; min-width: 0; min-height: 0; padding: 0;
  margin: -15px 0 0 -15px; border-radius: 50%; border: 2px solid var(--ink); background: var(--paper);
  font-size: 13px; line-height: 1; touch-action: none; cursor: grab; }
.al-lab .al-handle.al-behind { opacity: 0.45; border-style: dashed; }
.al-lab .al-numbers { font-variant-numeric: tabular-nums; margin: 6px 0; }
.al-lab table { border-collapse: collapse; margin: 4px 0; display: table; width: 100%; }
.al-lab td, .al-lab th { text-align: right; padding: 1px 8px; border-bottom: 1px solid var(--edge);
  font-variant-numeric: tabular-nums; }
.al-lab caption { text-align: left; color: var(--soft); caption-side: bottom; padding: 2px 0; }
.al-lab .al-note { color: var(--soft); margin: 6px 0 0; }
`;

/** An element with properties, attributes (names with a hyphen, and role) and children. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

const rounded = (x, digits = 4) => (Math.abs(x) >= 1e-3 || x === 0 ? x.toFixed(digits) : x.toExponential(1));
const degrees = (x) => Math.round(((Math.atan2(x[1], x[0]) * 180) / Math.PI + 360) % 360);
const smallMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Draw the lab into an element and keep it in step with a model. anywidget calls this. */
export function render({ model, el }) {
  const view = new View(model, el);
  return () => view.remove();
}

export default { render };

class View {
  constructor(model, el) {
    this.model = model;
    this.root = make("div", { className: "al-lab", role: "group", "aria-label": "Live lab" });
    this.turn = [0.5, 0.35]; // of the sphere: about the vertical axis, then towards the reader
    this.frames = []; // milliseconds of the last frames, for tests
    this.build();
    el.append(make("style", { textContent: STYLE }), this.root);
    this.listeners = [
      ...["d", "beta", "normalization", "activation", "directions", "weights"].map((name) =>
        [name, () => this.landscapeChanged(name === "d")]),
      ...["n", "seed", "start"].map((name) => [name, () => this.restart()]),
      ["direction", () => this.controls()],
      ["playing", () => this.playingChanged()],
    ].map(([name, call]) => [`change:${name}`, call]);
    this.listeners.forEach(([event, call]) => model.on(event, call));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.scene);
    this.dark = new MutationObserver(() => this.draw());
    for (const node of [document.documentElement, document.body]) {
      this.dark.observe(node, { attributes: true });
    }
    this.landscapeChanged(true);
    if (model.get("playing")) this.playingChanged();
    this.root.view = this;
  }

  remove() {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
    this.dark.disconnect();
    this.listeners.forEach(([event, call]) => this.model.off(event, call));
  }

  get(name) { return this.model.get(name); }

  set(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
  }

  // ------------------------------------------------------------------ controls

  build() {
    const choice = (name, text, options) => {
      const select = make("select", { onchange: () => this.set(name, this.parse(name, select.value)) },
        ...options.map(([value, label]) => make("option", { value, textContent: label })));
      this.inputs[name] = select;
      return make("label", {}, text, select);
    };
    const number = (name, text, min, max, step) => {
      const input = make("input", { type: "number", min, max, step, inputMode: "decimal" });
      input.onchange = () => {
        const value = Number(input.value);
        const good = input.value !== "" && value >= min && value <= max;
        if (good) this.set(name, value);
        this.say(good ? "" : `${text} must be between ${min} and ${max}; ${input.value || "nothing"} was given.`);
        this.controls();
      };
      this.inputs[name] = input;
      return make("label", {}, text, input);
    };
    this.inputs = {};
    this.play = make("button", { type: "button", onclick: () => this.set("playing", !this.get("playing")) });
    const button = (text, onclick) => make("button", { type: "button", textContent: text, onclick });
    const beta = make("input", { type: "range", min: -1, max: 2, step: 0.01, "aria-label": "inverse temperature beta, logarithmic" });
    beta.oninput = () => this.set("beta", Number((10 ** beta.value).toPrecision(3)));
    this.betaRange = beta;
    const speed = make("input", { type: "range", min: -2, max: 1, step: 0.1, "aria-label": "speed: time per frame, logarithmic" });
    speed.oninput = () => this.set("speed", 10 ** speed.value);
    this.speedRange = speed;
    this.scene = make("div", { className: "al-scene" });
    this.canvas = make("canvas", { role: "img", tabIndex: 0 });
    this.trace = make("canvas", { role: "img" });
    this.handles = make("div", { role: "group", "aria-label": "Neurons: arrows left and right turn, up and down change the weight" });
    this.scene.append(this.canvas, this.handles);
    this.numbers = make("p", { className: "al-numbers" });
    this.status = make("p", { className: "al-note", role: "status" });
    this.list = make("table");
    this.neurons = make("div");
    this.listenToCanvas();
    this.root.append(
      make("div", { className: "al-row" }, this.play,
        button("Step", () => { this.set("playing", false); this.advance(); this.pause(); }),
        button("Reset", () => { this.set("playing", false); this.restart(); }),
        make("label", {}, "speed", speed)),
      this.status,
      make("div", { className: "al-columns" },
        make("div", {}, this.scene),
        make("div", {}, this.numbers, this.trace, this.list)),
      make("fieldset", {}, make("legend", { textContent: "Landscape" }), make("div", { className: "al-row" },
        choice("d", "tokens on", [[2, "the circle"], [3, "the sphere"]]),
        number("beta", "β", 0.01, 1000, "any"), beta,
        choice("activation", "activation", [["relu", "ReLU"], ["gelu", "GELU"], ["tanh", "tanh"],
          ["softplus", "softplus"], ["leaky_relu", "leaky ReLU"], ["identity", "identity"]]),
        choice("direction", "direction", [["descent", "descent"], ["ascent", "ascent"]]),
        choice("normalization", "attention", [["unnormalized", "unnormalised"], ["softmax", "softmax"]]))),
      make("fieldset", {}, make("legend", { textContent: "Start" }), make("div", { className: "al-row" },
        number("n", "tokens", 1, 2000, 1), number("seed", "seed", 0, 4294967295, 1))),
      this.neurons);
  }

  parse(name, value) { return name === "d" ? Number(value) : value; }

  say(text) { this.status.textContent = text; }

  /** Show the state in the controls. */
  controls() {
    for (const [name, input] of Object.entries(this.inputs)) input.value = this.get(name);
    this.betaRange.value = Math.log10(this.get("beta"));
    this.speedRange.value = Math.log10(this.get("speed"));
    this.play.textContent = this.get("playing") ? "Pause" : "Play";
    this.play.setAttribute("aria-pressed", this.get("playing"));
  }

  /** A handle and a row of controls for each neuron. */
  neuronControls() {
    const weights = this.get("weights");
    this.handles.replaceChildren(...weights.map((w, j) => this.handle(j)));
    const rows = weights.map((w, j) => {
      const input = make("input", { type: "number", step: "any", value: Number(w.toFixed(3)), "aria-label": `weight of neuron ${j + 1}` });
      input.onchange = () => {
        if (input.value !== "" && Math.abs(input.value) <= 100) return this.changeNeuron(j, null, Number(input.value));
        this.say(`The weight of neuron ${j + 1} must be between -100 and 100.`);
        input.value = Number(w.toFixed(3));
      };
      const angle = make("input", { type: "number", min: 0, max: 360, step: "any", value: degrees(this.get("directions")[j]), "aria-label": `angle of neuron ${j + 1} in degrees` });
      angle.onchange = () => {
        const [, , z] = this.get("directions")[j], t = (angle.value * Math.PI) / 180, r = Math.sqrt(1 - z * z);
        this.changeNeuron(j, [r * Math.cos(t), r * Math.sin(t), z], null);
      };
      const remove = make("button", { type: "button", textContent: "Remove", "aria-label": `remove neuron ${j + 1}`,
        onclick: () => this.setNeurons(this.get("directions").filter((_, i) => i !== j), weights.filter((_, i) => i !== j)) });
      return make("div", { className: "al-row" }, `neuron ${j + 1}`, make("label", {}, "w", input), make("label", {}, "angle°", angle), remove);
    });
    const add = make("button", { type: "button", textContent: "Add a neuron", disabled: weights.length >= 8,
      onclick: () => {
        const t = 2.4 * (weights.length + 1);
        this.setNeurons([...this.get("directions"), [Math.cos(t), Math.sin(t), 0]], [...weights, 0.5]);
      } });
    this.neurons.replaceChildren(make("fieldset", {}, make("legend", { textContent: "Perceptron" }), ...rows, add));
  }

  setNeurons(directions, weights) {
    this.model.set("directions", directions);
    this.set("weights", weights);
  }

  changeNeuron(j, direction, weight) {
    const swap = (list, value) => list.map((old, i) => (i === j ? value : old));
    if (direction) this.set("directions", swap(this.get("directions"), direction));
    if (weight !== null) this.set("weights", swap(this.get("weights"), Math.max(-100, Math.min(100, weight))));
  }

  /** The handle at the tip of a neuron: drag it, or use the arrow keys. */
  handle(j) {
    const element = make("button", { type: "button", className: "al-handle", role: "slider", textContent: `a${j + 1}`,
      "aria-valuemin": 0, "aria-valuemax": 360 });
    element.onkeydown = (event) => {
      const move = { ArrowLeft: [5, 0], ArrowRight: [-5, 0], ArrowUp: [0, 0.05], ArrowDown: [0, -0.05] }[event.key];
      if (!move) return;
      event.preventDefault();
      const [x, y, z] = this.get("directions")[j], t = (move[0] * Math.PI) / 180;
      const turned = [x * Math.cos(t) - y * Math.sin(t), x * Math.sin(t) + y * Math.cos(t), z];
      this.changeNeuron(j, move[0] ? turned : null, move[1] ? this.get("weights")[j] + move[1] : null);
      this.handles.children[j].focus();
    };
    element.onpointerdown = (event) => {
      element.setPointerCapture(event.pointerId);
      this.dragged = j;
    };
    element.onpointermove = (event) => {
      if (this.dragged !== j) return;
      const box = this.canvas.getBoundingClientRect(), { centre, radius } = this.geometry();
      const x = (event.clientX - box.left - centre) / radius, y = (centre - (event.clientY - box.top)) / radius;
      const length = Math.hypot(x, y);
      if (length < 0.02) return;
      if (this.get("d") === 2) {
        const sign = this.get("weights")[j] < 0 ? -1 : 1;
        this.changeNeuron(j, [x / length, y / length, 0], sign * weightOfLength(Math.min(length, 0.97)));
      } else {
        const s = Math.min(1, 0.98 / length), z = Math.sqrt(1 - (x * s) ** 2 - (y * s) ** 2);
        this.changeNeuron(j, this.unrotate([x * s, y * s, z]), null);
      }
    };
    element.onpointerup = element.onpointercancel = () => {
      this.dragged = undefined;
      this.neuronControls();
      this.draw();
    };
    return element;
  }

  // ---------------------------------------------------------------- simulation

  landscapeChanged(newSpace) {
    const d = this.get("d");
    if (d === 3 && this.get("n") > 600) this.model.set("n", 600); // all pairs, each frame
    const directions = this.get("directions").map((a) => {
      const x = d === 2 ? [a[0], a[1], 0] : [a[0], a[1], a[2] ?? 0], length = Math.hypot(...x) || 1;
      return length > 1e-12 ? x.map((value) => value / length) : [1, 0, 0];
    });
    const weights = this.get("weights");
    if (directions.length !== weights.length) return; // the other half follows
    this.landscape = makeLandscape({ ...this.options(), directions, weights });
    this.painted = null;
    if (newSpace) return this.restart();
    this.history = [];
    this.measureUp();
    if (this.dragged === undefined) this.neuronControls();
    this.controls();
    this.draw();
  }

  options() {
    return Object.fromEntries(["d", "beta", "activation", "normalization"].map((name) => [name, this.get(name)]));
  }

  restart() {
    const { d } = this.landscape, start = this.get("start");
    const flat = start ? Float64Array.from(start) : uniformPoints(this.get("n"), d, this.get("seed"));
    this.points = flat;
    this.t = 0;
    this.history = [];
    this.measureUp();
    this.controls();
    this.neuronControls();
    this.pause();
  }

  /** One frame's worth of time, in steps that the integrator likes. */
  advance() {
    const sign = this.get("direction") === "ascent" ? 1 : -1, time = this.get("speed");
    const steps = Math.min(40, Math.ceil((time * this.landscape.stiffness) / 1.5));
    const dt = Math.min(time / steps, 1.5 / this.landscape.stiffness);
    for (let i = 0; i < steps; i++) this.points = this.landscape.step(this.points, sign * dt);
    this.t += steps * dt;
    this.measureUp();
  }

  measureUp() {
    this.energy = this.landscape.energy(this.points);
    this.residual = this.landscape.residual(this.points);
    this.history.push([this.t, this.energy]);
    if (this.history.length > 800) this.history = this.history.filter((_, i) => i % 2 === 0);
  }

  playingChanged() {
    this.controls();
    cancelAnimationFrame(this.frame);
    if (!this.get("playing")) return this.pause();
    let reported = performance.now();
    const loop = () => {
      const before = performance.now();
      this.advance();
      this.draw();
      this.frames.push(performance.now() - before);
      if (this.frames.length > 300) this.frames.shift();
      if (before - reported > 500) {
        reported = before;
        this.report();
      }
      this.frame = requestAnimationFrame(loop);
    };
    this.frame = requestAnimationFrame(loop);
  }

  /** Tell Python where the tokens are. */
  report() {
    this.model.set("tokens", [...this.points]);
    this.model.set("t", this.t);
    this.model.set("energy", this.energy);
    this.set("residual", this.residual);
  }

  /** Standing still: say it to Python and to screen readers. */
  pause() {
    this.report();
    this.draw();
    const found = atoms(this.points, this.landscape.d);
    this.canvas.setAttribute("aria-label", `${this.landscape.d === 2 ? "Circle" : "Sphere"} with `
      + `${this.tokenCount()} tokens in ${found.length} ${found.length === 1 ? "group" : "groups"}, `
      + `heaviest of mass ${found[0].mass.toFixed(2)}; inside, the perceptron's potential`);
    this.trace.setAttribute("aria-label", `Energy against time, now ${rounded(this.energy)} at time ${rounded(this.t, 2)}`);
  }

  tokenCount() { return this.points.length / (this.landscape.d === 2 ? 1 : 3); }

  // ------------------------------------------------------------------- drawing

  geometry() {
    const size = this.scene.clientWidth || 300;
    return { size, centre: size / 2, radius: size * 0.36 };
  }

  /** A drawing context in CSS pixels, cleared. */
  context(canvas, width, height) {
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  draw() {
    if (!this.scene.clientWidth || !this.landscape || !this.points) return;
    const { theme } = document.documentElement.dataset, body = document.body.dataset;
    const dark = theme ? theme === "dark" : body.jpThemeLight ? body.jpThemeLight === "false"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    this.root.classList.toggle("al-dark", dark);
    const style = getComputedStyle(this.root);
    this.ink = style.getPropertyValue("--ink");
    this.paper = style.getPropertyValue("--paper");
    this.tokenColour = style.getPropertyValue("--tokens");
    const { size } = this.geometry(), context = this.context(this.canvas, size, size);
    this.landscape.d === 2 ? this.drawCircle(context) : this.drawSphere(context);
    this.placeHandles();
    this.drawTrace();
    this.drawNumbers();
  }

  /** The colour of a value of the potential: orange above zero, blue below. */
  shade(value) {
    const strength = Math.min(1, Math.abs(value) / (this.limit || 1));
    const [r, g, b] = value < 0 ? COLOURS.negative : COLOURS.positive;
    return [r, g, b, 0.9 * strength];
  }

  paintCircle() {
    const count = 180, values = Array.from({ length: count }, (_, k) => this.landscape.potential((2 * Math.PI * (k + 0.5)) / count));
    this.limit = Math.max(...values.map(Math.abs));
    return values;
  }

  drawCircle(context) {
    const { centre, radius } = this.geometry();
    const values = (this.painted ??= this.paintCircle()), count = values.length;
    if (this.limit > 0) {
      const gradient = context.createConicGradient(0, centre, centre); // runs clockwise
      values.forEach((value, k) => {
        const [r, g, b, alpha] = this.shade(value);
        gradient.addColorStop(1 - (k + 0.5) / count, `rgba(${r},${g},${b},${alpha})`);
      });
      context.fillStyle = gradient;
      context.beginPath();
      context.arc(centre, centre, radius, 0, 2 * Math.PI);
      context.fill();
      this.signs(context, values);
    }
    context.strokeStyle = this.ink;
    context.lineWidth = 1.3;
    context.beginPath();
    context.arc(centre, centre, radius, 0, 2 * Math.PI);
    context.stroke();
    // needles: mass in bins of two degrees; dots: the tokens
    const bins = new Float64Array(180), n = this.points.length;
    context.fillStyle = this.tokenColour;
    context.globalAlpha = n > 400 ? 0.5 : 0.8;
    for (const angle of this.points) {
      bins[((Math.floor((angle * 90) / Math.PI) % 180) + 180) % 180] += 1 / n;
      const x = centre + radius * 1.02 * Math.cos(angle), y = centre - radius * 1.02 * Math.sin(angle);
      context.fillRect(x - 2, y - 2, 4, 4);
    }
    context.globalAlpha = 1;
    context.strokeStyle = this.tokenColour;
    context.lineWidth = Math.max(2, (radius * Math.PI) / 90 - 1);
    context.beginPath();
    bins.forEach((mass, k) => {
      if (!mass) return;
      const angle = ((k + 0.5) * Math.PI) / 90, from = radius * 1.04, to = from + radius * 0.32 * Math.sqrt(mass);
      context.moveTo(centre + from * Math.cos(angle), centre - from * Math.sin(angle));
      context.lineTo(centre + to * Math.cos(angle), centre - to * Math.sin(angle));
    });
    context.stroke();
    this.drawArrows(context);
  }

  /** Plus and minus signs where the potential is largest and smallest: not by colour alone. */
  signs(context, values) {
    const count = values.length;
    this.sign(context, values, (k) => {
      const angle = (2 * Math.PI * (k + 0.5)) / count;
      return [0.86 * Math.cos(angle), 0.86 * Math.sin(angle)];
    });
  }

  sign(context, values, place) {
    const { centre, radius } = this.geometry();
    let [low, high] = [0, 0];
    values.forEach((value, k) => {
      if (value > (values[high] || 0)) high = k;
      if (value < (values[low] || 0)) low = k;
    });
    context.fillStyle = this.ink;
    context.font = "600 20px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const [text, k] of [["+", values[high] > 0 ? high : -1], ["−", values[low] < 0 ? low : -1]]) {
      if (k < 0) continue;
      const [x, y] = place(k);
      context.fillText(text, centre + radius * x, centre - radius * y);
    }
  }

  drawArrows(context) {
    const { centre } = this.geometry();
    context.strokeStyle = this.ink;
    context.lineWidth = 1.8;
    this.get("weights").forEach((w, j) => {
      const [x, y] = this.tip(j);
      context.setLineDash(w < 0 ? [5, 4] : []);
      context.beginPath();
      context.moveTo(centre, centre);
      context.lineTo(x, y);
      context.stroke();
    });
    context.setLineDash([]);
  }

  /** Where the handle of a neuron is, and whether it is in front. */
  tip(j) {
    const { centre, radius } = this.geometry(), a = this.get("directions")[j];
    const length = this.landscape.d === 2 ? lengthOfWeight(Math.abs(this.get("weights")[j])) : 1;
    const x = this.landscape.d === 2 ? a : this.rotate(a);
    return [centre + radius * length * x[0], centre - radius * length * x[1], this.landscape.d === 2 || x[2] >= 0];
  }

  placeHandles() {
    [...this.handles.children].forEach((element, j) => {
      if (j >= this.get("weights").length) return;
      const [x, y, front] = this.tip(j), w = this.get("weights")[j], angle = degrees(this.get("directions")[j]);
      element.style.left = `${x}px`;
      element.style.top = `${y}px`;
      element.classList.toggle("al-behind", !front);
      element.setAttribute("aria-label", `neuron ${j + 1}`);
      element.setAttribute("aria-valuenow", angle);
      element.setAttribute("aria-valuetext", `angle ${angle} degrees, weight ${rounded(w, 2)}`);
    });
  }

  rotate([x, y, z]) {
    const [a, b] = this.turn, u = x * Math.cos(a) - y * Math.sin(a), v = x * Math.sin(a) + y * Math.cos(a);
    return [u, v * Math.sin(b) + z * Math.cos(b), z * Math.sin(b) - v * Math.cos(b)];
  }

  unrotate([p, q, r]) {
    const [a, b] = this.turn, v = q * Math.sin(b) - r * Math.cos(b), z = q * Math.cos(b) + r * Math.sin(b);
    return [p * Math.cos(a) + v * Math.sin(a), v * Math.cos(a) - p * Math.sin(a), z];
  }

  /** The potential on the front of the sphere, as a small picture, for the present turn. */
  paintSphere() {
    const side = 120, picture = new ImageData(side, side), values = new Float64Array(side * side).fill(NaN);
    this.limit = 0;
    for (let k = 0; k < side * side; k++) {
      const x = ((k % side) + 0.5) * (2 / side) - 1, y = 1 - (Math.floor(k / side) + 0.5) * (2 / side);
      if (x * x + y * y > 1) continue;
      values[k] = this.landscape.potential(...this.unrotate([x, y, Math.sqrt(1 - x * x - y * y)]));
      this.limit = Math.max(this.limit, Math.abs(values[k]));
    }
    values.forEach((value, k) => {
      if (Number.isNaN(value) || !this.limit) return;
      const [r, g, b, alpha] = this.shade(value);
      picture.data.set([r, g, b, 255 * alpha], 4 * k);
    });
    const canvas = make("canvas", { width: side, height: side });
    canvas.getContext("2d").putImageData(picture, 0, 0);
    const place = (k) => [((k % side) + 0.5) * (2 / side) - 1, 1 - (Math.floor(k / side) + 0.5) * (2 / side)];
    return { canvas, mark: (context) => this.sign(context, values, (k) => place(k).map((x) => 0.85 * x)) };
  }

  drawSphere(context) {
    const { centre, radius } = this.geometry();
    this.painted ??= this.paintSphere();
    context.drawImage(this.painted.canvas, centre - radius, centre - radius, 2 * radius, 2 * radius);
    this.painted.mark(context);
    context.strokeStyle = this.ink;
    context.lineWidth = 1.3;
    context.beginPath();
    context.arc(centre, centre, radius, 0, 2 * Math.PI);
    context.stroke();
    context.strokeStyle = context.fillStyle = this.tokenColour;
    for (let i = 0; i < this.points.length; i += 3) {
      const [x, y, z] = this.rotate(this.points.subarray(i, i + 3));
      context.globalAlpha = z >= 0 ? 0.9 : 0.35;
      context.beginPath();
      context.arc(centre + radius * x, centre - radius * y, 3, 0, 2 * Math.PI);
      z >= 0 ? context.fill() : context.stroke();
    }
    context.globalAlpha = 1;
    this.drawArrows(context);
  }

  drawTrace() {
    const width = this.trace.parentElement.clientWidth, height = 150;
    const context = this.context(this.trace, width, height), left = 62, bottom = 30;
    const values = this.history.map(([, e]) => e), last = this.history.at(-1)[0] || 1;
    const low = Math.min(...values), high = Math.max(...values), span = high - low || 1;
    context.fillStyle = this.ink;
    context.font = "13px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillText(rounded(high, 3), left - 6, 12);
    if (high > low) context.fillText(rounded(low, 3), left - 6, height - bottom - 4);
    context.fillText("energy", left - 6, (height - bottom) / 2);
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.fillText("0", left, height - 10);
    context.textAlign = "right";
    context.fillText(`time ${rounded(this.t, 1)}`, width - 4, height - 10);
    context.strokeStyle = this.ink;
    context.lineWidth = 1;
    context.strokeRect(left, 4, width - left - 4, height - bottom - 4);
    context.strokeStyle = this.tokenColour;
    context.lineWidth = 2;
    context.beginPath();
    this.history.forEach(([t, e], i) => {
      const x = left + (t / last) * (width - left - 4), y = 8 + ((high - e) / span) * (height - bottom - 12);
      i ? context.lineTo(x, y) : context.moveTo(x, y);
    });
    context.stroke();
  }

  drawNumbers() {
    const now = performance.now();
    if (this.get("playing") && now - (this.told ?? 0) < 200) return;
    this.told = now;
    this.numbers.textContent = `time ${rounded(this.t, 2)} · energy ${rounded(this.energy)} · residual (largest speed) ${rounded(this.residual)}`;
    const found = atoms(this.points, this.landscape.d), place = this.landscape.d === 2 ? ["angle"] : ["longitude", "latitude"];
    const latitude = (x) => Math.round((Math.asin(Math.max(-1, Math.min(1, x[2]))) * 180) / Math.PI);
    const row = (cells, tag, scope) => make("tr", {}, ...cells.map((text) => make(tag, { textContent: text, ...scope })));
    this.list.replaceChildren(
      make("caption", { textContent: `${found.length} ${found.length === 1 ? "group" : "groups"} of tokens`
        + `${found.length > 6 ? ", the six heaviest" : ""} (a group: each token within 0.02 of another)` }),
      make("thead", {}, row(["mass", ...place], "th", { scope: "col" })),
      make("tbody", {}, ...found.slice(0, 6).map(({ mass, x }) => row([mass.toFixed(3), `${degrees(x)}°`,
        ...(this.landscape.d === 3 ? [`${latitude(x)}°`] : [])], "td", {}))));
  }

  /** Turn the sphere: drag sideways, or the arrow keys. */
  listenToCanvas() {
    this.canvas.style.touchAction = "pan-y";
    let last = null;
    const turn = (right, up) => {
      if (this.landscape.d === 2) return;
      this.turn = [this.turn[0] + right, Math.max(-1.5, Math.min(1.5, this.turn[1] + up))];
      this.painted = null;
      this.draw();
    };
    this.canvas.onpointerdown = (event) => {
      last = event;
      this.canvas.setPointerCapture(event.pointerId);
    };
    this.canvas.onpointermove = (event) => {
      if (!last) return;
      const { radius } = this.geometry();
      turn((event.clientX - last.clientX) / radius, (event.clientY - last.clientY) / radius);
      last = event;
    };
    this.canvas.onpointerup = this.canvas.onpointercancel = () => { last = null; };
    this.canvas.onkeydown = (event) => {
      const move = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (!move || this.landscape.d === 2) return;
      event.preventDefault();
      turn(...move);
    };
  }
}

/** A neuron's arrow: 0 at weight 0, half the radius at weight 1, never beyond the circle. */
const lengthOfWeight = (w) => w / (1 + w);
const weightOfLength = (length) => length / (1 - length);

// ------------------------------------------------------------------------ page

/** Put the lab into a page; the address's anchor names a preset, `?name=value` sets a state. */
export function mount(el) {
  const parse = (text) => { try { return JSON.parse(text); } catch { return text; } };
  const given = Object.fromEntries([...new URLSearchParams(location.search)]
    .filter(([name]) => name in DEFAULTS).map(([name, value]) => [name, parse(value)]));
  const model = localModel(given);
  const remove = render({ model, el });
  const scene = () => {
    const preset = PRESETS[location.hash.slice(1)];
    if (!preset) return;
    model.set("playing", false);
    for (const [name, value] of Object.entries({ ...structuredClone(DEFAULTS), ...structuredClone(preset) })) {
      if (!["playing", "t", "energy", "residual", "tokens"].includes(name)) model.set(name, value);
    }
    el.scrollIntoView({ block: "start" });
    if (!smallMotion()) model.set("playing", true);
  };
  window.addEventListener("hashchange", scene);
  scene();
  return { model, remove };
}
