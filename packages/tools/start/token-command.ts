import { quote } from 'openapi-contract/page';
import { dataFolder } from './settings.ts';

/**
 * Returns a command for `$(…)` that prints an access token. It works in POSIX shells and zsh on this machine, in any
 * folder.
 */
export const tokenCommand = (): string => {
  const setting = process.env['DATA_DIR'] ? `DATA_DIR=${quote(dataFolder())} ` : '';
  // The bin finds its project by the current folder. In some people's shells, cd prints: that is not part of the token.
  return `cd ${quote(process.cwd())} > /dev/null && ${setting}node_modules/.bin/lambda-service token`;
};
