/** Returns a quantile of the numbers (`part` 0.5 is the median). Interpolates between the two nearest if necessary. */
export const quantile = (numbers: number[], part: number): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * part;
  const [below = Number.NaN, above = Number.NaN] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]];
  return below + (above - below) * (position % 1);
};
