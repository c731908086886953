import fc from 'fast-check';

export type Plant = { id: bigint; name: string; tag?: string };

export const [minId, maxId] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Any text without unpaired surrogates, at most 20 code points long. */
export const texts = fc.string({ unit: 'binary', maxLength: 20 });

export const plants: fc.Arbitrary<Plant> = fc.record(
  { id: fc.bigInt({ min: minId, max: maxId }), name: texts, tag: texts },
  { requiredKeys: ['id', 'name'] },
);

/** Returns random plants, each with a different id. The same seed gives the same plants. */
export const somePlants = (count: number, seed: number): Plant[] => {
  const distinct = fc.uniqueArray(plants, { selector: ({ id }) => id, minLength: count, maxLength: count });
  return fc.sample(distinct, { seed, numRuns: 1 })[0] ?? [];
};

export const toJson = ({ id, ...texts }: Plant): string =>
  `{"id":${id},${JSON.stringify(texts).slice(1)}`.replaceAll('\ufffd', '\\ufffd');
