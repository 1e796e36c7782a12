// Read cases as JSON from standard input, run the lab's mathematics on them, print the results.
// Usage: node simulate.mjs LAB.mjs < cases.json
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const lab = await import(pathToFileURL(process.argv[2]));
const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map((options) => {
  const landscape = lab.makeLandscape(options);
  const start = Float64Array.from(options.points);
  let points = start;
  for (let i = 0; i < options.steps; i++) points = landscape.step(points, options.dt);
  return {
    energy: landscape.energy(start),
    field: [...landscape.field(start)],
    residual: landscape.residual(start),
    points: [...points],
    atoms: lab.atoms(start, options.d, options.tol),
    uniform: [...lab.uniformPoints(50, options.d, 1)],
  };
})));
