import type { Handler } from './trial-stack.ts';

/**
 * Wraps a handler so that it misbehaves as the request header x-authorizer or x-operation says. The header names a
 * misbehaviour, or contains environment variables (as JSON), with which the function starts anew for this event only.
 */
export const misbehaving =
  (handler: Handler): Handler =>
  async (event: { type?: string; headers: Record<string, string>; body?: string }, context) => {
    const behaviour = event.headers[event.type === 'REQUEST' ? 'x-authorizer' : 'x-operation'] ?? '';
    const { info } = console;
    const { now } = Date;
    const { env } = process;
    try {
      if (behaviour.startsWith('{')) {
        const bundle = module.children[0]?.id ?? '';
        delete require.cache[bundle];
        process.env = { ...env, ...JSON.parse(behaviour) };
        return await require(bundle).handler(event, context);
      }
      switch (behaviour) {
        case 'throws':
          throw new TypeError('oops');
        case 'crashes':
          return process.exit(1);
        case 'takes too long':
          return await new Promise((resolve) => setTimeout(resolve, 300_000));
        case 'has a bug':
          console.info = () => {
            throw new TypeError('oops');
          };
          break;
        case 'returns 500':
          return { statusCode: 500 };
        case 'loses the body':
          event.body = '{}';
          break;
        case 'runs ten minutes later':
          Date.now = () => now() + 600_000;
          break;
      }
      return await handler(event as never, context);
    } finally {
      Object.assign(console, { info });
      Date.now = now;
      process.env = env;
    }
  };
