/** Puts marked secrets wherever a client or the store can put text. Log lines and error responses must contain none. */
import { randomInt } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bodyOf, isAllowed, newId, responseTo, violations, withText } from '../data/index.ts';
import type { Fault } from '../store/index.ts';
import * as faults from '../store/index.ts';
import { assemble, makeKey, sign } from '../tokens.ts';
import { claims, report, startTrial, startTrialStack } from '../trial/index.ts';
import { isUnavailable, retryWhile } from '../waiting.ts';
import { part } from './part.ts';

export const testLog = part('log', async () => {
  /** The mark in every secret, by which the test finds a secret in a log line or a response. */
  const mark = `m${randomInt(2 ** 40).toString(36)}k`;

  /** The ids in all requests, except for short ones, which may be part of a log line by chance. */
  const ids: string[] = [];

  const newSecretId = (): string => {
    const id = newId();
    if (id.length >= 8) ids.push(id);
    return id;
  };

  /**
   * A response of the store with secrets in its headers, its error and its item, as if the store quoted the request.
   */
  const quoting =
    (status: number, type: string): Fault =>
    ({ response }) =>
      response
        .writeHead(status, { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': mark })
        .end(JSON.stringify({ __type: `x#${type}`, message: mark, code: mark, Item: { [mark]: mark }, [mark]: mark }));

  /** The most verbose log levels of Lambda and the SDK. */
  const environment = { AWS_LAMBDA_LOG_LEVEL: 'TRACE', LOG_LEVEL: 'trace', DEBUG: '*' };
  const { store, stack } = await startTrial({ operations: { environment }, authorizer: { environment } });

  /** Headers with secrets: some that a client may send, and some that gateways add. */
  const markedHeaders = {
    cookie: `session=${mark}`,
    [`x-${mark}`]: mark,
    'user-agent': mark,
    'x-forwarded-for': mark,
    'x-amzn-trace-id': `Root=1-${mark}`,
    'x-request-id': mark,
    accept: mark,
    referer: `https://x.example/${mark}`,
  };

  /** Fields that the contract does not define. It may refuse them. */
  const unknown = { [mark]: { [mark]: [mark] }, id_token: mark };

  /** Returns a body with secrets in each text and in unknown fields, as JSON. */
  const bodyWith = (text = mark, id = newSecretId()): string =>
    bodyOf(id, { ...withText(text), ...(isAllowed(unknown) && unknown) });

  type Sent = { body: string; headers?: Record<string, string> };

  test('the service writes no secret of a request to a log line or an error response', async () => {
    /** Everything that this process and the functions write to stdout and stderr. */
    let written = '';
    for (const stream of [process.stdout, process.stderr]) {
      vi.spyOn(stream, 'write').mockImplementation((chunk) => {
        written += chunk;
        return true;
      });
    }
    const validToken = await sign(
      stack.issuer.key,
      claims({ iss: stack.issuer.issuer, jti: mark, sub: mark, note: mark }),
    );
    const stranger = await makeKey('ES256', 'trial');
    const authorized = { authorization: `Bearer ${validToken}` };
    const type = (contentType: string) => ({ ...authorized, 'content-type': contentType });

    const requests: Sent[] = [
      // Authorization headers that the authorizer refuses, each for a different reason.
      ...[
        mark,
        `Bearer ${mark}`,
        `Basic ${Buffer.from(`me:${mark}`).toString('base64')}`,
        `Bearer ${validToken}${mark}`,
        `Bearer ${assemble({ alg: mark, kid: mark }, claims({ iss: mark }))}`,
        `Bearer ${assemble({ alg: 'ES256', kid: mark, typ: mark }, { iss: mark })}`,
        `Bearer ${assemble({ alg: 'ES256', kid: mark }, claims({ iss: stack.issuer.issuer, sub: mark }))}`,
        `Bearer ${await sign(stranger, claims({ iss: stack.issuer.issuer, scope: mark }))}`,
        `Bearer ${await sign(stack.issuer.key, claims({ iss: stack.issuer.issuer, scope: mark, sub: mark }))}`,
        `Bearer ${await sign(stack.issuer.key, claims({ iss: stack.issuer.issuer, aud: mark }))}`,
        `Bearer ${await sign(stack.issuer.key, claims({ iss: stack.issuer.issuer, exp: mark }))}`,
        `Bearer ${await sign(stack.issuer.key, `"${mark}"`)}`,
      ].map((authorization) => ({ body: bodyWith(), headers: { authorization } })),
      ...[
        mark,
        `{"${mark}`,
        `"${mark}"`,
        bodyWith().replace('{', `{"__proto__":"${mark}",`),
        ...violations(mark, newSecretId()),
        bodyWith(`${mark}\ud800`),
        bodyWith(mark.repeat(50_000)),
      ].map((body) => ({ body, headers: authorized })),
      { body: bodyWith(), headers: type(mark) },
      { body: bodyWith(), headers: type(`text/${mark}`) },
    ];

    const answers: string[] = [];
    let failed = 0;
    const send = async ({ body, headers = {} }: Sent): Promise<number> => {
      const answered = await stack.sendOnce(body, { ...markedHeaders, ...headers });
      answers.push(JSON.stringify([answered.headers, answered.status === 200 ? 'an acknowledgement' : answered.body]));
      if (answered.status >= 500) failed += 1;
      return answered.status;
    };

    /**
     * Sends a request, and sends it again after each 503 (at most eight times in all), because a busy machine can make
     * the service run out of time.
     */
    const sendWithRetries = (request: Sent): Promise<number> => retryWhile(() => send(request), isUnavailable);

    for (const request of requests) expect(await sendWithRetries(request), 'status of a refusal').toBeLessThan(500);
    // If the store fails or the response is a 500, the service logs the cause. Most of these failures quote the
    // secret, which must not reach the log.
    for (const fault of [
      quoting(400, 'ValidationException'),
      quoting(400, 'AccessDeniedException'),
      quoting(400, 'ConditionalCheckFailedException'),
      quoting(400, 'TransactionConflictException'),
      quoting(400, 'ThrottlingException'),
      quoting(400, `An error of ${mark}`),
      quoting(400, mark),
      quoting(500, mark),
      quoting(500, 'InternalServerError'),
      quoting(302, 'Moved'),
      faults.dynamoDbError(403, 'UnrecognizedClientException'),
      faults.corruptResponse,
      faults.loseResponse,
      faults.hangUp,
      ({ response }: Parameters<Fault>[0]) => response.socket?.end(`${mark}\r\n\r\n`),
      ({ response }: Parameters<Fault>[0]) => response.writeHead(200).end(`{"Attributes":{"${mark}":{"S":"${mark}`),
      ({ response }: Parameters<Fault>[0]) => response.writeHead(403).end(`<html>${mark}`),
    ]) {
      const id = newSecretId();
      store.fail(id, fault);
      expect(
        await send({ body: bodyWith(mark, id), headers: authorized }),
        'status of a failure',
      ).toBeGreaterThanOrEqual(400);
    }
    // Serve a second stack, whose issuer returns a key set that is not JSON, so that the authorizer fails.
    const lost = await startTrialStack(store.endpoint);
    onTestFinished(lost.close);
    lost.issuer.answer((_, response) => response.end(`${mark} { "${mark}": `));
    const withoutKeys = await lost.sendOnce(bodyWith(), { ...markedHeaders, authorization: `Bearer ${lost.token}` });
    expect(withoutKeys).toMatchObject({ status: 500 });
    // If the service stores an item, the response has those fields of the item that the contract says, but nothing else
    // from the request.
    expect(await sendWithRetries({ body: bodyWith(''), headers: authorized }), 'status').toBe(200);
    const [before, marked] = [stack.log.length, { ...markedHeaders, ...authorized }];
    const id = newSecretId();
    const [answer, own] = [Object((await stack.send(bodyWith(mark, id), marked)).body), responseTo(id, withText(mark))];
    expect(answer).toMatchObject(own);
    expect(JSON.stringify(Object.entries(answer).filter(([field]) => !(field in own)))).not.toContain(mark);
    const acknowledged = stack.log.length - before;
    vi.restoreAllMocks();

    const lines = [...stack.log, ...lost.log].map((line) => JSON.stringify(line));
    expect(lines.length, 'lines of the log').toBe(answers.length + acknowledged + lost.log.length);
    // The log must contain the cause of each failure: to find no secrets in a log without these causes would prove
    // nothing.
    const causes = lines.filter((line) => line.includes('"outcome":"failed"')).length;
    expect(causes, 'failures in the log').toBeGreaterThanOrEqual(failed);
    expect(failed, 'failures').toBeGreaterThanOrEqual(16);
    for (const text of [...lines, ...answers, written]) {
      expect(text).not.toContain(mark);
      expect(ids.filter((id) => text.includes(id))).toEqual([]);
      expect(text).not.toContain(validToken.split('.')[1]);
      expect(text).not.toContain(validToken.split('.')[2]);
    }
    report(
      `${answers.length} requests with secrets in all places: none in ${lines.length} lines of the log, nor in a response`,
    );
  });
});
