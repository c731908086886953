/** The parts of the command `http-api-emulator`, for other commands that serve a stack. */
export { notServed } from './reasons.ts';
export { ReloadQueue } from './reload-queue.ts';
export { Serving, say, stackIn } from './serving.ts';
