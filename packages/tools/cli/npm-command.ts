import { spawnSync } from 'node:child_process';
import { Command, type Option } from 'commander';

/**
 * A command that people run with npm, which takes all options before a `--` for itself. The command reads those from
 * npm's environment. It refuses to run if it sees that one may have been changed or lost. docs/api.md says what npm hides.
 */
export class NpmCommand extends Command {
  /** @param console gets the output. If it is given, a CommanderError is thrown instead of ending the process. */
  constructor(name?: string, console?: Console) {
    super(name);
    if (console === undefined) return;
    const { log, error } = console;
    const line = (text: string): string => text.replace(/\n$/, '');
    this.exitOverride().configureOutput({ writeOut: (text) => log(line(text)), writeErr: (text) => error(line(text)) });
    this.showHelpAfterError(`See: ${name} --help`);
  }

  override createCommand(name?: string): NpmCommand {
    return new NpmCommand(name);
  }

  override parseOptions(args: string[]) {
    const isHelp = args.includes('--help');
    return super.parseOptions(this.parent === null && !isHelp ? this.#withTaken(args) : args);
  }

  /** Adds the options that npm has taken. Of `--id=9`, npm has the value; of `--id 9`, it leaves the 9 in `args`. */
  #withTaken(args: string[]): string[] {
    const command = this.commands.find((each) => [each.name(), ...each.aliases()].includes(args[0] ?? ''));
    const { found, misspelt } = findInNpm([...this.options, ...(command?.options ?? [])]);
    const taken = found.filter(({ value }) => value !== undefined);
    if (taken.length === 0) return args;

    const words = args.slice(command ? 1 : 0);
    const [waiting, ...others] = taken.filter(({ value }) => value === 'true');
    const hasWord = words.length === 1 && others.length + (command ?? this).registeredArguments.length === 0;
    if (waiting && hasWord) waiting.value = words[0];
    const given = taken.map(({ option, value }) => `${option.long}=${value}`);
    const unsure = [...found.filter(({ isSure }) => !isSure).map(({ option }) => option.long), ...misspelt];
    if (unsure.length === 0 && (!waiting || hasWord) && !args.some((each) => /^-./.test(each))) {
      const hidden = found.filter(({ isHidden }) => isHidden).map(({ option }) => option.long);
      if (hidden.length > 0)
        this.configureOutput().writeErr?.(
          `npm may hide ${hidden.join(', ')}: to give that option, write -- before the options.\n`,
        );
      return [...(waiting ? args.slice(0, -1) : args), ...given];
    }

    const names = [...new Set([...taken.map(({ option }) => option.long), ...unsure])];
    const shown = given.map((each) => each.replace(/=(?:true|.*[^\w.:/-].*|)$/s, '=...').replace('=', ' '));
    const perhaps = names.slice(taken.length).map((name) => `[${name} ...]`);
    const example = [this.name(), ...(command ? args.slice(0, 1) : []), ...shown, ...perhaps].join(' ');
    return this.error(
      `error: npm takes ${names.join(', ')}. Write -- before the options, as in: ${example}\n` +
        'If you did not give that option, your environment has a variable npm_config_...: unset it.',
    );
  }
}

/**
 * Looks in npm's environment for a command's options. `isSure` means that an option was given with just that `value` or,
 * without a value, was not given (unless it `isHidden`). `misspelt` has names of other options.
 */
const findInNpm = (options: readonly Option[]) => {
  const given = variables();
  if (!options.some(({ long }) => given.some((each) => each.startsWith(variableOf(long)))))
    return { found: [], misspelt: [] };
  const own = npmSettings();
  // npm may keep a value elsewhere (--to is short for its --token-description), change it, or lose it: try each option.
  const probe = (index: number): string => `/dev/null/./${index}`;
  const probed = [...npmSettings(...options.map(({ long }, index) => `${long}=${probe(index)}`))];
  const found = options.map((option, index) => {
    const kept = probed.find(([, value]) => value === probe(index))?.[0];
    const variable = kept ?? variableOf(option.long);
    const text = process.env[variable];
    const value = text === own.get(variable) ? undefined : text;
    // If npm has the option too, npm's default value, as in --tag latest, and a value it refuses leave no variable.
    const isHidden = value === undefined && own.has(variableOf(option.long));
    const isKept = kept !== undefined || (value === undefined && own.has(variable));
    // --name and --Name share a variable.
    const isShared = options.some((other) => other !== option && variableOf(other.long) === variable);
    // --no-tag is `false`.
    return { option, variable, value, isHidden, isSure: !isShared && isKept && /^(?!false$).+$/.test(value ?? 'none') };
  });
  const known = [...own.keys(), ...found.map(({ variable }) => variable)];
  const misspelt = given.filter((each) => !known.includes(each));
  return { found, misspelt: misspelt.map((each) => each.replace('npm_config_', '--')) };
};

const variableOf = (name = ''): string => `npm_config_${name.replace(/^--/, '').replaceAll('-', '_').toLowerCase()}`;

/** Lists npm's variables, without those that it always sets. */
const variables = (): string[] =>
  Object.keys(process.env).filter((name) => /^npm_config_(?!(?:global_prefix|local_prefix|node_gyp)$)/.test(name));

/** Lists npm's settings, by their variables: the defaults, those in files such as ~/.npmrc, and these options. */
const npmSettings = (...options: string[]): Map<string, string> => {
  const variable = /^npm_config_(?!.*config$)/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !variable.test(name)));
  const npm = process.env['npm_execpath'] ?? 'npm';
  const { stdout } = spawnSync(npm, ['config', 'list', '--json', '--long', ...options], { env, encoding: 'utf8' });
  // With some options, such as --version, npm prints something else.
  const settings: Record<string, unknown> = stdout?.startsWith('{') ? JSON.parse(stdout) : {};
  const textOf = (value: unknown): string => String(value).replace(/^(?:false|null)$/, '');
  return new Map(Object.entries(settings).map(([key, value]) => [variableOf(key), textOf(value)]));
};
