// SPDX-License-Identifier: Apache-2.0
// --- constants: energies and areas depend on numbers that are known within ranges ---
// A factor is such a number over its stated value. It lies between low and high, and in all rows alike.
const costs = data.costs, factorCount = costs.factors.length;
const setAt = new Map(costs.points.map(point => [JSON.stringify(point.slice(0, -1)), costs.sets[point[point.length - 1]]]));
const setAxes = costs.axes.map(column), setOfRow = [];
const setOf = row => setOfRow[row] === undefined
  ? setOfRow[row] = setAt.get(JSON.stringify(setAxes.map(c => c ? cell(c, row) : ""))) || null : setOfRow[row];
const amounts = new Float64Array(factorCount), folded = new Float64Array(factorCount);
function leastSum(sign) {
  let sum = 0;
  for (let i = 0; i < factorCount; ++i) folded[i] = sign * amounts[i];
  for (let i = factorCount - 1; i >= 0; --i) {
    const [low, high, under] = costs.factors[i], value = folded[i] * (folded[i] > 0 ? low : high);
    if (under < 0) sum += value; else folded[under] += value;
  }
  return sum;
}
// What a result consists of, by constant; null where it does not depend on them.
const partsOf = new Map();
for (const c of columns) {
  const match = /^(dense|sparse)_(energy_uj_total|power_w|pj_per_flop|gflops_per_w)$/.exec(c.name);
  if (c.role !== "total" || !costs.sets.length || !(match || c.name === "area_mm2")) continue;
  const prefix = match ? match[1] + "_energy_uj_" : "area_mm2_", names = match ? data.energyParts : data.areaParts;
  partsOf.set(c, {kind: match ? "energy" : "area", parts: names.map(name => column(prefix + name)),
    total: match ? column(prefix + "total") : c, inverse: Boolean(match) && match[2] === "gflops_per_w"});
}
// The amounts of the result c: of each [row, sign]. Part by part, so that equal rows differ by nothing.
function setAmounts(c, signedRows) {
  const {kind, parts, total, inverse} = partsOf.get(c);
  const rows = signedRows.map(([row, sign]) => {
    const value = c.numbers[row];
    return {row, factors: setOf(row)[kind], scale: sign * (inverse ? 1 / value : value) / total.numbers[row]};
  });
  amounts.fill(0);
  for (let i = 0; i < parts.length; ++i) {
    for (const {row, factors, scale} of rows) {
      const amount = parts[i] && parts[i].numbers ? parts[i].numbers[row] : 0;
      if (amount) amounts[factors[i]] += scale * amount;  // NaN: none
    }
  }
}
const ranged = (c, row) => partsOf.has(c) && setOf(row);
// Where the result of a row may lie; null where no constant leaves it open.
function bounds(c, row) {
  if (!ranged(c, row)) return null;
  setAmounts(c, [[row, 1]]);
  const low = leastSum(1), high = -leastSum(-1);
  return partsOf.get(c).inverse ? [1 / high, 1 / low] : [low, high];
}
// By how much the goal c is worse in row a than in row b: least and most.
function excess(c, a, b) {
  if (!ranged(c, a) || !ranged(c, b)) {
    const stated = c.more ? c.numbers[b] - c.numbers[a] : c.numbers[a] - c.numbers[b];
    return [stated, stated];
  }
  setAmounts(c, [[a, 1], [b, -1]]);
  return [leastSum(1), -leastSum(-1)];
}

// What the front of `group`, whose rows no later one beats, is within the ranges of the constants: rows that no other
// row beats at all of them. A row is certain where no other one may beat it anywhere.
function addRanges(goals, group) {
  if (!goals.some(c => partsOf.has(c))) {
    for (const row of group) if (front.has(row)) front.set(row, "certain");
    return;
  }
  const better = (a, b) => {
    let strict = false;
    for (const c of goals) {
      const d = c.more ? c.numbers[a] - c.numbers[b] : c.numbers[b] - c.numbers[a];
      if (d < 0) return false;
      if (d > 0) strict = true;
    }
    return strict;
  };
  const always = (a, b) => better(a, b) && goals.every(c => excess(c, b, a)[0] >= 0);
  const may = (a, b) => {
    let strict = false;
    for (const c of goals) {
      const most = excess(c, b, a)[1];
      if (most < 0) return false;
      if (most > 0) strict = true;
    }
    return strict;
  };
  const sets = [];  // of rows that cost the same, which follow one another
  let last = null;
  for (const row of group) {
    if (last && goals.every(c => excess(c, last[0], row).every(d => d === 0))) { last.push(row); continue; }
    last = [row];
    let beaten = false;
    for (let i = sets.length - 1; i >= 0 && !beaten; --i) beaten = always(sets[i][0], row);
    if (!beaten) sets.push(last);
  }
  for (const rows of sets) {
    const stated = front.has(rows[0]);
    const certain = stated && !sets.some(other => other !== rows && may(other[0], rows[0]));
    for (const row of rows) front.set(row, certain ? "certain" : stated ? "stated" : "other");
  }
}
