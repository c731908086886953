/** Computes the phases of a cold request: one that arrives before any function has a running instance. */

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
 * One phase of a cold request: `what` describes the phase, and `of` names the function in which it takes place.
 */
type ColdPhase = { of: string; what: string; milliseconds: number };

/**
 * Returns the phases of a cold request in order, each with its shortest time of all rounds: if a phase takes longer in
 * another round, the usual cause is the machine, not the function.
 * @param rounds has an entry for each round: the times of each function, in the order in which the functions are called
 */
export const coldPhases = (rounds: Record<string, ColdTimes>[]): ColdPhase[] =>
  Object.keys(rounds[0] ?? {}).flatMap((of) =>
    phases.map(({ what, from, to }) => {
      const durations = rounds.flatMap(({ [of]: times }) => (times ? [times[to] - times[from]] : []));
      return { of, what, milliseconds: Math.min(...durations) };
    }),
  );
