/** A command with options that npm does not know, except --tag. It prints the options that it got. */
import { NpmCommand } from '../../../cli/npm-command.ts';
import { type Command, runCommand } from '../../../terminal.ts';

export const shop: Command = async (process, console) => {
  const program = new NpmCommand('npm run -s shop --', console).option('--place <name>');
  const print = (given: object) => console.log(JSON.stringify({ ...program.opts(), ...given }));
  program.command('sell').alias('give').requiredOption('--shoe <size>').option('--hat <colour>').action(print);
  program.command('name').requiredOption('--tag <text>').action(print);
  program.command('label').requiredOption('--shoe <size>').option('--tag <text>').action(print);
  const find = program.command('find').argument('<place>').option('--shoe <size>');
  find.action((place, given) => print({ place, ...given }));
  await program.parseAsync(process.argv);
};

if (import.meta.main) await runCommand(shop);
