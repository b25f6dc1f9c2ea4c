// The numbers of one head for one query token. Scaled scores and weights are the recorded ones, so that they are right
// under an intervention too; the numbers between them are computed here.

/** Return every number of one head for the query at index `row`, from the query vector to the output of the head. */
export function headArithmetic(vectors, row, length, { head_width: width, causal, is_scaled: isScaled }) {
  const { query, key, value, scaled, weight, score_vector: scoreVector } = vectors;
  const of = (matrix, i, size) => matrix.subarray(i * size, (i + 1) * size);
  const q = of(query, row, width);
  const keys = Array.from({ length }, (_, j) => {
    const k = of(key, j, width);
    const tanh = scoreVector && Array.from(q, (element, i) => Math.tanh(element + k[i]));
    const products = Array.from(q, (element, i) => (scoreVector ? scoreVector[i] * tanh[i] : element * k[i]));
    const score = products.reduce((sum, product) => sum + product, 0);
    return { k, v: of(value, j, width), tanh, products, score, scaled: scaled[row * length + j], weight: weight[row * length + j], allowed: !(causal && j > row) };
  });
  const maximum = Math.max(...keys.filter(({ allowed }) => allowed).map((entry) => entry.scaled));
  for (const entry of keys) entry.exponential = entry.allowed ? Math.exp(entry.scaled - maximum) : 0;
  const sum = keys.reduce((total, { exponential }) => total + exponential, 0);
  const mixed = Array.from({ length: width }, (_, i) => keys.reduce((total, entry) => total + entry.weight * entry.v[i], 0));
  return { q, scoreVector, keys, maximum, sum, mixed, width, isScaled };
}
