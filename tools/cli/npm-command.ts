import { spawnSync } from 'node:child_process';
import { Command, type Option } from 'commander';

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
    const taken = this.options.filter(isTaken).map(({ long }) => long);
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

/** npm's option for which it takes `--token` and `--to`. */
const unabbreviated = 'token-description';

/** Whether npm's environment has an option with another value than npm's own settings, such as those in ~/.npmrc. */
const isTaken = (option: Option): boolean => {
  const own = option.long?.slice(2) ?? '';
  return [own, ...(unabbreviated.startsWith(own) ? [unabbreviated] : [])].some((key) => {
    const { [`npm_config_${key.replaceAll('-', '_').toLowerCase()}`]: value, ...env } = process.env;
    // npm's environment has an empty value for false and null: the same as no flag.
    if (value === undefined || (value === '' && option.isBoolean())) return false;
    const setting = spawnSync('npm', ['config', 'get', key], { env }).stdout?.toString().trim();
    return setting?.replace(/^(false|null)$/, '') !== value;
  });
};
