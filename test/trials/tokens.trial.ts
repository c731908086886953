/** Sends forged tokens, damaged tokens and unusual valid tokens to the gateway, and directly to the authorizer. */
import { connect, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listen } from '../../local/listen.ts';
import { sign } from '../kit/access-tokens.ts';
import { forgedTokens } from '../kit/forged-tokens.ts';
import { authorizerEvent } from '../kit/gateway-events.ts';
import { isUnavailable, retryWhile } from '../kit/over-quota.ts';
import { type PlantsStore, startPlantsStore } from '../kit/plants-store.ts';
import { newId } from '../kit/responses.ts';
import { mapConcurrently, progress, report, seed, trialSize } from '../kit/scale.ts';
import { makeTokenIssuer, type TokenIssuer } from '../kit/token-variants.ts';
import { startTrialStack, type TrialStack } from '../kit/trial-stack.ts';
import { validTokens } from '../kit/valid-tokens.ts';

let store: PlantsStore;
let stack: TrialStack;
/**
 * The issuer of valid tokens. At `foreignJwksUri`, its server has an attacker's key. A verifier that used this URL
 * would accept forged tokens.
 */
let from: TokenIssuer;
/**
 * Like `from`, but the fields of its tokens that tell where to fetch the key, such as `jku`, point to the decoy, which
 * acts as an attacker's server.
 */
let fromDecoy: TokenIssuer;
let decoy: Server;
/**
 * How many connections the decoy has accepted. Fields of some tokens, such as `jku`, point to the decoy; a correct
 * verifier never connects to it.
 */
let looked: number;
let validToken: string;
beforeAll(async () => {
  store = await startPlantsStore('plants');
  stack = await startTrialStack(store.endpoint);
  looked = 0;
  decoy = createServer((socket) => {
    looked += 1;
    socket.destroy();
  });
  const port = await listen(decoy, 0);
  const { issuer } = stack.issuer;
  from = await makeTokenIssuer(issuer, `${issuer}/elsewhere`);
  fromDecoy = { ...from, foreignJwksUri: `http://127.0.0.1:${port}/jwks` };
  stack.issuer.answer(({ url }, response) => {
    response.end(JSON.stringify(url === '/jwks' ? from.jwks : { keys: [from.stranger.jwk] }));
  });
  validToken = await sign(from.es, from.claims());
});
afterAll(async () => {
  decoy.close();
  await stack.close();
  await store.close();
});

/** How many requests are sent at the same time: as many as the local service runs instances of a function. */
const width = 8;

/** Sends raw bytes to the gateway, and expects one response. @returns its status */
const sendBytes = async (bytes: string | Buffer): Promise<number> => {
  const socket = connect(Number(new URL(stack.url).port), '127.0.0.1');
  socket.write(bytes);
  let answer = '';
  for await (const chunk of socket.setEncoding('latin1')) answer += chunk;
  const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
  expect(statuses, 'answers').toHaveLength(1);
  return statuses[0] ?? 0;
};

const plant = (): string => `{"id":${newId()},"name":"Moss"}`;

/**
 * Returns the text of an HTTP request to create a plant, with the header lines `lines`. The text `framed`, if given, is
 * sent in place of the content-length header and the body.
 */
const request = (lines: string, target = '/plants', framed?: string): string => {
  const body = plant();
  const framing = framed ?? `content-length: ${body.length}\r\n\r\n${body}`;
  return `POST ${target} HTTP/1.1\r\nhost: x\r\n${lines}\r\nconnection: close\r\ncontent-type: application/json\r\n${framing}`;
};

/** Sends a request, and sends it again after a 503, as the contract advises. @returns the status */
const sendWithRetries = (bytes: string): Promise<number> => retryWhile(() => sendBytes(bytes), isUnavailable);

const atGateway = (authorization: string): Promise<number> =>
  sendWithRetries(request(`authorization: ${authorization}`));

/**
 * Sends an Authorization header directly to the authorizer, since a gateway might refuse it. @returns `isAuthorized` or
 * the failure, and the logged reason
 */
const atFunction = async (authorization: string): Promise<{ verdict: unknown; reason: unknown }> => {
  const outcome = await stack.invoke('authorizer', authorizerEvent(authorization));
  const [line] = outcome.log.map(({ message }) => message as { reason?: string });
  const verdict = 'result' in outcome ? JSON.parse(outcome.result).isAuthorized : outcome.failure;
  return { verdict, reason: line?.reason };
};

/** The reasons for which the authorizer refuses a header before it decodes a token. */
const headerReasons = ['no bearer token', 'not a signed JWT', 'encrypted token', 'too long'];

/**
 * The statuses of a refusal: 403 from the authorizer, or from the gateway 400 (bad bytes), 401 (no header) or 431
 * (headers too long).
 */
const refusals = [400, 401, 403, 431];

test(`the service rejects ${forgedTokens.length} forged tokens, never with a 5xx, and follows no URL in them`, async () => {
  const statuses = await mapConcurrently(forgedTokens, width, async ([, what, forge]) => {
    const [own, decoyed] = await Promise.all([forge(from), forge(fromDecoy)]);
    const { verdict, reason } = await atFunction(`Bearer ${own}`);
    return { what, verdict, reason, status: await atGateway(`Bearer ${decoyed}`) };
  });
  expect(statuses.filter(({ verdict }) => verdict !== false)).toEqual([]);
  expect(statuses.filter(({ status }) => !refusals.includes(status))).toEqual([]);
  // The authorizer must log the reason expected for this forgery, or that the header is malformed or the key unknown,
  // because it may notice those first.
  const unexpected = statuses.filter(
    ({ reason }, at) => ![forgedTokens[at]?.[0], ...headerReasons, 'unknown key'].includes(`${reason}`),
  );
  expect(unexpected).toEqual([]);
  expect(looked, 'connections to the decoy').toBe(0);
  expect(new Set(stack.issuer.requests)).toEqual(new Set(['/jwks']));
  // The decoy, a server of the attacker, must count this request. Otherwise, the count of 0 connections above would
  // prove nothing.
  await expect(fetch(fromDecoy.foreignJwksUri)).rejects.toThrow();
  expect(looked, 'connections to the decoy').toBe(1);
  const counts = Object.entries(Object.groupBy(statuses, ({ status }) => status)).map(
    ([status, of]) => `${of?.length} × ${status}`,
  );
  report(`${statuses.length} forged tokens: function: ${statuses.length} refused; gateway: ${counts.join(', ')}`);
});

test.each(validTokens)('the service accepts a valid token with %s', async (_, make) => {
  const requests = stack.issuer.requests.length;
  const [own, decoyed] = await Promise.all([make(from), make(fromDecoy)]);
  expect(await atFunction(`Bearer ${own}`)).toEqual({ verdict: true, reason: undefined });
  expect(await atGateway(`Bearer ${decoyed}`), 'status').toBe(200);
  expect(stack.issuer.requests.slice(requests).filter((path) => path !== '/jwks')).toEqual([]);
});

/** Malformed Authorization headers that contain a valid token. */
const headers: [what: string, authorization: (token: string) => string][] = [
  ['no scheme', (token) => token],
  ['the scheme alone', () => 'Bearer'],
  ['another scheme', (token) => `Basic ${token}`],
  ['a scheme for bound tokens', (token) => `DPoP ${token}`],
  ['user and password', (token) => `Basic ${Buffer.from(`Bearer:${token}`).toString('base64')}`],
  ['a scheme that begins with Bearer', (token) => `BearerX ${token}`],
  ['a scheme that ends with Bearer', (token) => `XBearer ${token}`],
  ['no space', (token) => `Bearer${token}`],
  ['a tab', (token) => `Bearer\t${token}`],
  ['a space and a tab', (token) => `Bearer \t${token}`],
  ['a no-break space', (token) => `Bearer\u00a0${token}`],
  ['a zero-width space', (token) => `Bearer \u200b${token}`],
  ['a colon', (token) => `Bearer: ${token}`],
  ['an equals sign', (token) => `Bearer=${token}`],
  ['a parameter name', (token) => `Bearer token=${token}`],
  ['quotes', (token) => `Bearer "${token}"`],
  ['the scheme twice', (token) => `Bearer Bearer ${token}`],
  ['full-width letters', (token) => `Ｂｅａｒｅｒ ${token}`],
  ['a letter that looks the same', (token) => `Веarer ${token}`],
  ['a zero-width space in the scheme', (token) => `Bea\u200brer ${token}`],
  ['a byte order mark', (token) => `\ufeffBearer ${token}`],
  [
    'a full-width token',
    (token) => `Bearer ${token.replace(/[a-z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0))}`,
  ],
  ['a full-width dot', (token) => `Bearer ${token.replace('.', '．')}`],
  ['an escaped token', (token) => `Bearer ${token.replaceAll('.', '%2E')}`],
  ['two tokens, joined', (token) => `Bearer ${token},Bearer ${token}`],
  ['two tokens, joined with a space', (token) => `Bearer ${token}, Bearer ${token}`],
  ['two tokens of one scheme', (token) => `Bearer ${token},${token}`],
  ['a token and a comma', (token) => `Bearer ${token},`],
  ['a comma and a token', (token) => `,Bearer ${token}`],
  ['a password and a token', (token) => `Basic eDp5,Bearer ${token}`],
  ['a parameter after the token', (token) => `Bearer ${token}; a=b`],
  ['a second token after a space', (token) => `Bearer ${token} ${token}`],
  ['a fourth part', (token) => `Bearer ${token}.x`],
  ['a third dot', (token) => `Bearer ${token}.`],
  ['padding', (token) => `Bearer ${token}=`],
  ['8,193 characters', (token) => `Bearer${' '.repeat(8_193 - 6 - token.length)}${token}`],
  ['64 KB', (token) => `Bearer ${token}${'A'.repeat(65_536)}`],
  ['64 KB of spaces', (token) => `Bearer${' '.repeat(65_536)}${token}`],
  ['64 KB of dots', () => `Bearer ${'.'.repeat(65_536)}`],
];

/** Malformed headers that are sent only to the function, because HTTP would change them or cannot carry them. */
const headersForFunction: typeof headers = [
  ['an empty header', () => ''],
  ['a space before it', (token) => ` Bearer ${token}`],
  ['a space after it', (token) => `Bearer ${token} `],
  ['a tab after it', (token) => `Bearer ${token}\t`],
  ['a line feed after it', (token) => `Bearer ${token}\n`],
  ['a line feed before it', (token) => `\nBearer ${token}`],
  ['a line feed within', (token) => `Bearer\n${token}`],
  ['a separate line', (token) => `x\nBearer ${token}\ny`],
  ['a folded line', (token) => `Bearer\r\n ${token}`],
  ['a line separator', (token) => `Bearer ${token}\u2028`],
  ['U+0000 after it', (token) => `Bearer ${token}\0`],
];

/** Requests with a valid token in the wrong place. */
const requests: [what: string, bytes: (token: string) => string | Buffer][] = [
  ['bytes that are not UTF-8', (token) => Buffer.from(request(`authorization: Bearer ${token}\xff`), 'latin1')],
  ['a stray byte before the token', (token) => Buffer.from(request(`authorization: Bearer \xff${token}`), 'latin1')],
  ['two headers', (token) => request(`authorization: Bearer ${token}\r\nauthorization: Bearer ${token}`)],
  ['two headers in two spellings', (token) => request(`authorization: Bearer ${token}\r\nAuthorization: Basic eDp5`)],
  ['an empty header and a valid one', (token) => request(`authorization: \r\nauthorization: Bearer ${token}`)],
  ['an empty header', () => request('authorization:')],
  ['no header', () => request('accept: */*')],
  ['a folded header', (token) => request(`authorization: Bearer\r\n ${token}`)],
  ['a header folded in the token', (token) => request(`authorization: Bearer ${token.replace('.', '\r\n .')}`)],
  ['a line feed after the scheme', (token) => request(`authorization: Bearer\n${token}`)],
  ['a carriage return in the token', (token) => request(`authorization: Bearer ${token.replace('.', '\r.')}`)],
  ['U+0000 after the token', (token) => request(`authorization: Bearer ${token}\0`)],
  ['a space before the colon', (token) => request(`authorization : Bearer ${token}`)],
  ['similar header names', (token) => request(`authorization_: Bearer ${token}\r\nx-authorization: Bearer ${token}`)],
  ['a full-width header name', (token) => request(`ａuthorization: Bearer ${token}`)],
  ["a proxy's header", (token) => request(`proxy-authorization: Bearer ${token}`)],
  [
    "a forwarder's header",
    (token) => request(`x-forwarded-authorization: Bearer ${token}\r\nx-original-authorization: Bearer ${token}`),
  ],
  ['a cookie', (token) => request(`cookie: authorization=Bearer ${token}; access_token=${token}`)],
  ['a query', (token) => request('accept: */*', `/plants?access_token=${token}&authorization=Bearer%20${token}`)],
  [
    'a trailer',
    (token) => {
      const body = plant();
      const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\nauthorization: Bearer ${token}\r\n\r\n`;
      return request('trailer: authorization', '/plants', `transfer-encoding: chunked\r\n\r\n${chunks}`);
    },
  ],
  [
    'a body',
    (token) => {
      const body = `access_token=${token}`;
      return request('accept: */*', '/plants', `content-length: ${body.length}\r\n\r\n${body}`);
    },
  ],
  [
    '64 KB in 64 headers',
    (token) =>
      request(
        Array(64)
          .fill(`authorization: Bearer ${token}${'A'.repeat(500)}`)
          .join('\r\n'),
      ),
  ],
];

test(`the service rejects a valid token in ${headers.length + headersForFunction.length + requests.length} malformed headers or wrong places`, async () => {
  const verdicts = await mapConcurrently([...headers, ...headersForFunction], width, async ([what, authorization]) => ({
    what,
    ...(await atFunction(authorization(validToken))),
  }));
  expect(verdicts.filter(({ verdict }) => verdict !== false)).toEqual([]);
  const reasons = Object.groupBy(verdicts, ({ reason }) => `${reason}`);
  const { 'no bearer token': _, ...others } = reasons;
  expect(
    Object.fromEntries(Object.entries(others).map(([reason, of]) => [reason, of?.map(({ what }) => what)])),
  ).toEqual({
    'not a signed JWT': ['a fourth part', 'a third dot', 'padding'],
    'too long': ['8,193 characters', '64 KB', '64 KB of spaces', '64 KB of dots'],
  });
  const all = [
    ...headers.map(([what, authorization]) => [what, request(`authorization: ${authorization(validToken)}`)] as const),
    ...requests.map(([what, bytes]) => [what, bytes(validToken)] as const),
  ];
  const statuses = await mapConcurrently(all, width, async ([what, bytes]) => ({
    what,
    status: await sendBytes(bytes),
  }));
  expect(statuses.filter(({ status }) => !refusals.includes(status))).toEqual([]);
  const counts = Object.entries(Object.groupBy(statuses, ({ status }) => status)).map(
    ([status, of]) => `${of?.length} × ${status}`,
  );
  report(`valid tokens in malformed headers: function: ${verdicts.length} refused; gateway: ${counts.join(', ')}`);
});

test.each<[what: string, bytes: (token: string) => string]>([
  ['the word bearer in lower case', (token) => request(`authorization: bearer ${token}`)],
  ['the word BEARER in capitals', (token) => request(`authorization: BEARER ${token}`)],
  ['two spaces before the token', (token) => request(`authorization: Bearer  ${token}`)],
  [
    'a header of 8,192 characters',
    (token) => request(`authorization: Bearer${' '.repeat(8_192 - 6 - token.length)}${token}`),
  ],
  // RFC 9110 section 5.5: white space around a header's value is not part of the value.
  ['white space around the header value', (token) => request(`authorization: \t Bearer ${token} \t`)],
  ['no white space before the header value', (token) => request(`AUTHORIZATION:Bearer ${token}`)],
  ['a request line with a whole URL', (token) => request(`authorization: Bearer ${token}`, 'http://x/plants')],
  [
    'a query string with another access_token',
    (token) => request(`authorization: Bearer ${token}`, '/plants?access_token=none'),
  ],
])('the service accepts a valid token in an unusual request: %s', async (_, bytes) => {
  expect(await sendWithRetries(bytes(validToken)), 'status').toBe(200);
});

/**
 * Returns copies of a token with one error each: a character replaced, lost, doubled or swapped with the next, the end
 * of the token cut off, or a bit flipped.
 */
const damages = (token: string): string[] => {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ~\0é'];
  const characters = [...token].flatMap((character, at) => {
    const [before, after] = [token.slice(0, at), token.slice(at + 1)];
    const others = letters.filter((letter) => letter !== character).map((letter) => before + letter + after);
    const swapped =
      after[0] === undefined || after[0] === character ? [] : [before + after[0] + character + after.slice(1)];
    return [...others, before + after, before + character + character + after, before, ...swapped];
  });
  const parts = token.split('.');
  const bits = parts.flatMap((part, index) => {
    const bytes = Buffer.from(part, 'base64url');
    return Array.from({ length: bytes.length * 8 }, (_, bit) => {
      const flipped = Buffer.from(bytes);
      flipped.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      return parts.with(index, flipped.toString('base64url')).join('.');
    });
  });
  return [...characters, ...bits];
};

/**
 * The short trial tries every 149th damaged token. A character can be damaged in some 75 ways, so it tries one damage
 * for about every second character, and one in 149 of the flipped bits. 149 is prime, so each kind of damage occurs.
 */
const stride = trialSize(1, 149);
const strideOverHttp = trialSize(13, 1_499);

test(`the service rejects a token changed in one place (tries one in ${stride} of all possible changes, seed ${seed})`, async () => {
  const tokens = [validToken, await sign(from.rs, from.claims())];
  const all = tokens.flatMap(damages);
  expect(all.filter((damaged) => tokens.includes(damaged))).toEqual([]);
  const at = (one: number) => all.filter((_, index) => (index + seed) % one === 0);
  const tick = progress('damaged tokens', at(stride).length);
  const verdicts = await mapConcurrently(at(stride), width, async (damaged) => {
    tick();
    return { damaged, ...(await atFunction(`Bearer ${damaged}`)) };
  });
  expect(verdicts.filter(({ verdict }) => verdict !== false)).toEqual([]);
  const statuses = await mapConcurrently(at(strideOverHttp), width, async (damaged) => ({
    damaged,
    status: await atGateway(`Bearer ${damaged}`),
  }));
  expect(statuses.filter(({ status }) => !refusals.includes(status))).toEqual([]);
  report(`${verdicts.length} damaged tokens at the function, ${statuses.length} at the gateway: all refused`);
  for (const token of tokens) expect(await atFunction(`Bearer ${token}`)).toMatchObject({ verdict: true });
});
