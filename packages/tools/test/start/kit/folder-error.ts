/** Imported with `--import` by `npm start`: throws what the emulator throws if its folder cannot be used. */
import { FolderError } from 'http-api-emulator';

process.on('newListener', (event) => {
  if (event !== 'uncaughtException') return;
  setImmediate(() => {
    throw new FolderError('The data cannot be used: no space left on device.');
  });
});
