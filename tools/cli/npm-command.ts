import { spawnSync } from 'node:child_process';
import { Command } from 'commander';

/**
 * A command that people run with npm, which takes all options before a `--` for itself. The command then refuses to
 * run, because it cannot know what was meant: npm reads `--id 9 --name Ann` as two options without values and two
 * arguments in unknown order, and `--loc` as its own option `--local`.
 */
export class NpmCommand extends Command {
  override createCommand(name?: string): NpmCommand {
    return new NpmCommand(name);
  }

  override parseOptions(args: string[]) {
    const taken = this.options.flatMap(({ long }) => long ?? []).filter(isTaken);
    if (taken.length > 0) {
      const names = this.parent === null ? [this.name()] : [this.parent.name(), this.name()];
      const example = `${names.join(' ')} ${taken[0]} ...`;
      const cause = `npm has taken ${taken.join(', ')}. Write -- before the options, as in: ${example}`;
      this.error(
        `error: ${cause}\nIf you did not give that option, your environment has a variable npm_config_...: unset it.`,
      );
    }
    return super.parseOptions(args);
  }
}

/**
 * Whether npm's environment has an option with another value than npm's own settings, such as those in ~/.npmrc. npm
 * takes `--token` as short for its own `--token-description`.
 */
const isTaken = (flag: string): boolean => {
  const prefix = variableOf(flag.slice(2));
  return Object.entries(process.env).some(([variable, value]) => {
    if (!variable.startsWith(prefix)) return false;
    const { [variable]: _, ...env } = process.env;
    const key = variable.slice(variableOf('').length).replaceAll('_', '-');
    const setting = spawnSync('npm', ['config', 'get', key], { env }).stdout?.toString().trim();
    // npm's environment has an empty value for a setting that is false or null.
    return setting?.replace(/^(false|null)$/, '') !== value;
  });
};

const variableOf = (key: string): string => `npm_config_${key.replaceAll('-', '_').toLowerCase()}`;
