/** Computes and draws the phases of a cold request: one that arrives before any function has a running instance. */

/** When each step of a function's first request began, in milliseconds since a moment that all processes share. */
export type ColdTimes = {
  spawn: number;
  import: number;
  handle: number;
  connect: number;
  call: number;
  finish: number;
  end: number;
};

/** The phases of a function's first request, each with the steps with which it begins (`from`) and ends (`to`). */
const phases: { what: string; from: keyof ColdTimes; to: keyof ColdTimes }[] = [
  { what: 'Node.js starts', from: 'spawn', to: 'import' },
  { what: 'import', from: 'import', to: 'handle' },
  { what: 'code before the call', from: 'handle', to: 'connect' },
  { what: 'TLS connection', from: 'connect', to: 'call' },
  { what: 'call', from: 'call', to: 'finish' },
  { what: 'code after the call', from: 'finish', to: 'end' },
];

/**
 * One phase of a cold request: `what` describes the phase, `of` names the function in which it takes place, and `share`
 * is the phase's part of the time that the whole request takes (0 to 1).
 */
export type ColdPhase = { of: string; what: string; milliseconds: number; share: number };

/**
 * Returns the phases of a cold request in order, each with its shortest time of all rounds: if a phase takes longer in
 * another round, the usual cause is the machine, not the function.
 * @param rounds has an entry for each round: the times of each function, in the order in which the functions are called
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

/** Draws the phases as an SVG document, one per row. Each bar begins at the x position where the bar above ends. */
export const drawCold = (title: string, rows: ColdPhase[]): string => {
  const total = rows.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  // Keep 110 units free at the right for the figures beside the last bar.
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
