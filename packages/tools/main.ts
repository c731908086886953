/** The program behind bin.js, which runs it in the project's folder, on the Node.js that the project pins. */
import { Command } from 'commander';
import { takenByNpm } from './start/settings.ts';
import { type CommandProcess, type Define, ourCommand, runCommand, type Terminal } from './terminal.ts';

type Load = () => Promise<{ define: Define }>;

const everyDay = 'Every day:';

/** The commands of every service, by when they are needed. The file of a command is loaded only if it runs. */
const groups: Record<string, Record<string, [about: string, load: Load]>> = {
  [everyDay]: {
    start: ['serves the service on this machine (npm start)', () => import('./start/command.ts')],
    token: ['prints an access token', () => import('./cli/token.ts')],
    import: ['adds the items in a file', () => import('./cli/import-file.ts')],
  },
  'On call:': {
    request: ['prints what happened to a request', () => import('./cli/request.ts')],
    'stack-trace': ['prints where in the sources a stack trace is from', () => import('./cli/stack-trace.ts')],
    restore: ['copies items that a table lacks from a restored one', () => import('./cli/restore.ts')],
    verify: ['compares what a stack runs with this folder', () => import('./release/verify.ts')],
  },
  'Before a release:': {
    journey: ['tests the service over HTTP, here or deployed', () => import('./release/journey.ts')],
    diff: ['prints what a deployment would change', () => import('./release/diff.ts')],
    upgrade: ['takes the next version of the packages', () => import('./release/upgrade.ts')],
  },
};

const names = Object.values(groups).flatMap((commands) => Object.keys(commands));

/** Adds a command for each operation of the contract. Its help has the contract's descriptions. */
const addOperations = async (program: Command, chosen: string, isHelp: boolean, terminal: Terminal) => {
  const { operationCommands } = await import('./cli/operations.ts');
  for (const { name, about, define } of await operationCommands(names)) {
    const command = program.command(name).description(about).helpGroup(everyDay);
    if (name === chosen) await define(command, terminal, isHelp);
  }
};

/** Prints its output with `console`. Instead of ending the process, throws a CommanderError. */
const makeProgram = (console: Console): Command => {
  const line = (text: string): string => text.replace(/\n$/, '');
  return new Command(ourCommand)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => console.log(line(text)),
      writeErr: (text) => console.error(line(text)),
      // In one line, as the commands' own errors: Commander puts what the user probably meant into a second one.
      outputError: (text, write) => write(text.replace(/^error: /, '').replace('\n(', ' (')),
    })
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .helpCommand(false)
    .usage('<command> [options]')
    .addHelpText('after', '\nAdd --help to a command to see its options.');
};

export const main = (process: CommandProcess = globalThis.process): Promise<void> => {
  const args = process.argv.slice(2);
  const [chosen = ''] = args;
  const run = async (terminal: Terminal): Promise<void> => {
    const program = makeProgram(terminal.console);
    for (const [group, commands] of Object.entries(groups)) {
      for (const [name, [about, load]] of Object.entries(commands)) {
        const command = program.command(name).description(about).helpGroup(group);
        if (name === chosen) (await load()).define(command, terminal);
      }
    }
    const isHelp = args.some((each) => each === '--help' || each === '-h');
    if (!names.includes(chosen)) await addOperations(program, chosen, isHelp, terminal);
    const taken = chosen === 'start' ? takenByNpm() : [];
    await program.parseAsync(process.argv.toSpliced(3, 0, ...taken));
  };
  return runCommand(run, process, chosen !== 'start');
};
