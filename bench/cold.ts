/** What a request costs that finds no running instance of either function: when each phase begins, and how long it takes. */

/** When the steps of a function's first request began, in milliseconds of `process.hrtime`, which all processes share. */
export type ColdTimes = {
  spawn: number;
  import: number;
  handle: number;
  connect: number;
  call: number;
  finish: number;
  end: number;
};

/** The phases of a function, each with the step that begins it and the one that ends it. */
const phases: { what: string; from: keyof ColdTimes; to: keyof ColdTimes }[] = [
  { what: 'Node.js starts', from: 'spawn', to: 'import' },
  { what: 'import', from: 'import', to: 'handle' },
  { what: 'code before the call', from: 'handle', to: 'connect' },
  { what: 'TLS connection', from: 'connect', to: 'call' },
  { what: 'call', from: 'call', to: 'finish' },
  { what: 'code after the call', from: 'finish', to: 'end' },
];

/** A phase, its duration, and its share of the whole request, between 0 and 1. */
export type ColdPhase = { of: string; what: string; milliseconds: number; share: number };

/**
 * Returns the phases of a cold request in order, each as fast as in its best round: if another is slower, the reason is
 * mostly the machine. `rounds` has the times of each function, in the order of the calls.
 */
export const coldPhases = (rounds: Record<string, ColdTimes>[]): ColdPhase[] => {
  const best = Object.keys(rounds[0] ?? {}).flatMap((of) =>
    phases.map(({ what, from, to }) => {
      const durations = rounds.flatMap(({ [of]: times }) => (times ? [times[to] - times[from]] : []));
      return { of, what, milliseconds: Math.min(...durations) };
    }),
  );
  const total = best.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  return best.map((phase) => ({ ...phase, share: phase.milliseconds / total }));
};

const [labelWidth, width, rowHeight, top] = [180, 600, 22, 30];

/** Draws the phases as an SVG document: a row for each, which begins where the one before it ends. */
export const drawCold = (title: string, rows: ColdPhase[]): string => {
  const total = rows.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  // The last part of the width is for the figure beside the last bar.
  const scale = (width - 110) / total;
  let begun = 0;
  const drawn = rows.map(({ of, what, milliseconds, share }, row) => {
    const y = top + row * rowHeight;
    const [x, length] = [labelWidth + begun * scale, milliseconds * scale];
    begun += milliseconds;
    const figure = `${milliseconds.toFixed(1)} ms, ${(share * 100).toFixed(0)} %`;
    return [
      `<text x="8" y="${y + 11}">${of}: ${what}</text>`,
      `<rect x="${x}" y="${y}" width="${length}" height="14" fill="${of === rows[0]?.of ? '#3c6e91' : '#1b6e3c'}"/>`,
      `<text x="${x + length + 5}" y="${y + 11}">${figure}</text>`,
    ].join('');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${labelWidth + width} ${top + rows.length * rowHeight + 8}" font-family="sans-serif" font-size="11">`,
    `<title>${title}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    `<text x="8" y="18" font-weight="bold">${title}: ${total.toFixed(0)} ms</text>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
};
