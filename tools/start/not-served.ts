import type { Emulator } from 'http-api-emulator';

/** Returns a line for each reason why the emulator leaves out resources of the stack. */
export const notServed = ({ leftOut }: Pick<Emulator['stack'], 'leftOut'>): string[] =>
  Array.from(
    Map.groupBy(leftOut, (each) => each.reason),
    ([reason, resources]) => {
      const names = resources.map(({ resource }) => resource.replace(/[\dA-F]{8}(?= \()/, ''));
      return `Not served here: ${names.join(', ')}, because ${reason}.`;
    },
  );
