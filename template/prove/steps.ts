import { readFileSync } from 'node:fs';
import path from 'node:path';

const read = (file: string): string => readFileSync(path.join(import.meta.dirname, file), 'utf8');

/** What the scripts of the steps share. */
export const commands = read('commands.sh');

/** `about` is the item in the list of template/prove/README.md, or `Besides`. steps.sh explains `expected`. */
export type Step = { kind: string; about: string; name: string; expected: string; script: string };

export const steps: readonly Step[] = read('steps.sh')
  .split(/^### /m)
  .slice(1)
  .map((text) => {
    const [head = '', ...script] = text.split('\n');
    const [kind = '', about = '', name = '', ...expected] = head.split(' | ');
    return { kind, about, name, expected: expected.join(' | '), script: script.join('\n') };
  });
