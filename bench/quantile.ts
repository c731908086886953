/** The value below which `part` of the numbers are (0.5: their median), between the two nearest where it is none of them. */
export const quantile = (numbers: number[], part: number): number => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * part;
  const [below = Number.NaN, above = Number.NaN] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]];
  return below + (above - below) * (position % 1);
};
