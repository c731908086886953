/** Imported with `--import` by `npm start`: throws what the emulator throws if its folder cannot be used. */
import { FolderError } from 'http-api-emulator';

process.on('newListener', (event) => {
  // CDK's app is a child process.
  if (event !== 'uncaughtException' || !process.argv.includes('start')) return;
  setImmediate(() => {
    throw new FolderError('The data cannot be used: no space left on device.');
  });
});
