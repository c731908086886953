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
    const taken = this.options.map(({ long }) => long ?? '').filter(isTaken);
    if (taken.length > 0) {
      const names = this.parent === null ? [this.name()] : [this.parent.name(), this.name()];
      const example = `${names.join(' ')} ${taken[0]} ...`;
      this.error(`error: npm has taken ${taken.join(', ')}. Write -- before the options, as in: ${example}`);
    }
    return super.parseOptions(args);
  }
}

/** Whether npm's environment has an option with another value than npm's own settings, such as those in ~/.npmrc. */
const isTaken = (flag: string): boolean => {
  const key = flag.slice(2);
  const { [`npm_config_${key.replaceAll('-', '_').toLowerCase()}`]: value, ...env } = process.env;
  // npm's environment has an empty value for a setting that is false.
  return Boolean(value) && spawnSync('npm', ['config', 'get', key], { env }).stdout?.toString().trim() !== value;
};
