export { FolderError, lockFolder } from './dynamodb/data-folder.ts';
export type { AccessLogEntry } from './gateway/server.ts';
export type { LogLine, Outcome } from './lambda/functions.ts';
export { type Emulator, type ServeOptions, serve } from './serve.ts';
