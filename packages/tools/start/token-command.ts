import { quote } from 'openapi-contract/page';
import { dataFolder } from './settings.ts';

/** Returns a shell command that prints an access token. It works on this machine, in any folder. */
export const tokenCommand = (): string =>
  `${process.env['DATA_DIR'] ? `DATA_DIR=${quote(dataFolder())} ` : ''}npm --prefix ${quote(process.cwd())} run -s token`;
