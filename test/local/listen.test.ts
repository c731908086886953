import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { closeServer, listen } from '../../local/listen.ts';

test('a local server accepts connections only from this machine', async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  const port = await listen(server, 0);
  expect(server.address() as AddressInfo).toMatchObject({ address: '127.0.0.1', port });
});

test('closing a server ends all connections at once, even if a client still waits for a response', async () => {
  const server = createServer();
  const client = connect(await listen(server, 0), '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(server, 'request');
  const closed = once(client.resume(), 'close');
  await closeServer(server);
  await closed;
});
