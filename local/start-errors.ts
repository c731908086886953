import { FolderError } from 'http-api-emulator';
import { readPort } from './settings.ts';

/** Returns the message for an error of `npm start`. For errors that are common at a first start, it says what to do. */
export const explain = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE') {
    return `Port ${readPort()} is in use. Stop the program that uses it, or choose another port: PORT=3001 npm start (PORT=0 means any free port).`;
  }
  if ('code' in error && error.code === 'EACCES' && 'syscall' in error && error.syscall === 'listen') {
    return `You may not use port ${readPort()}. Choose another port: PORT=3001 npm start (PORT=0 means any free port).`;
  }
  return error instanceof FolderError ? `${error.message} For example: DATA_DIR=... npm start` : error.message;
};
