/** Imported with `--import` by `npm start`: as soon as it would handle the error, its disk is full. */
import { FolderError } from 'http-api-emulator';

process.on('newListener', (event) => {
  if (event !== 'uncaughtException') return;
  setImmediate(() => {
    throw new FolderError('The data cannot be used: no space left on device.');
  });
});
