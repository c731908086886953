/** The kinds of changes in the order in which somebody who upgrades must know them. */
const kinds = ['Security', 'Breaking', 'Changed', 'Fixed', 'Added', 'Removed'];

/** Lists the entries of a changelog in the format of Keep a Changelog, of all versions, by kind. */
const entriesIn = (changelog: string): [kind: string, entry: string][] =>
  changelog.split(/^### /m).flatMap((section): [string, string][] => {
    const [kind = ''] = section.split('\n');
    const entries = section.split(/^## /m)[0]?.match(/^- .*(?:\n(?: {2}.*)?)*/gm) ?? [];
    return entries.map((entry) => [kind, entry.trimEnd()]);
  });

/** Returns the entries that only the newer changelog has, by kind. So it works for versions that nobody has released. */
export const newEntries = (before: string, after: string): Map<string, string[]> => {
  const known = new Set(entriesIn(before).map(([, entry]) => entry));
  const news = entriesIn(after).filter(([, entry]) => !known.has(entry));
  const byKind = Map.groupBy(news, ([kind]) => kind);
  const order = [...new Set([...kinds, ...byKind.keys()])].filter((kind) => byKind.has(kind));
  return new Map(order.map((kind) => [kind, (byKind.get(kind) ?? []).map(([, entry]) => entry)]));
};
