/** dynalite brings no types. What is used of it: https://github.com/architect/dynalite#readme */
declare module 'dynalite' {
  import type { Server } from 'node:http';

  export default function dynalite(options: { path?: string; createTableMs?: number }): Server;
}
