import { RootConstruct } from 'constructs';
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../infra/settings.ts';

const read = (context: Record<string, unknown>) => {
  const { node } = new RootConstruct();
  for (const [key, value] of Object.entries(context)) node.setContext(key, value);
  return readSettings(node);
};

describe('the settings', () => {
  test('have defaults', () => {
    expect(read({})).toEqual({ scope: 'plants/create' });
  });

  test('take an issuer, its audience and the address of its keys', () => {
    const context = { issuer: 'https://a.example/x', audience: 'api', jwksUri: 'https://b.example/keys' };
    expect(read(context)).toEqual({ scope: 'plants/create', externalIssuer: context });
  });

  test.each(['create', 'write:plants', 'https://api.example/plants.create'])(
    'take the scope %s of an issuer',
    (scope) => {
      expect(read({ issuer: 'https://a.example', scope }).scope).toBe(scope);
    },
  );

  test.each(['https://a.example', 'https://a.example/'])('find the keys of %s at the usual place', (issuer) => {
    expect(read({ issuer }).externalIssuer).toEqual({
      issuer,
      jwksUri: 'https://a.example/.well-known/jwks.json',
      audience: undefined,
    });
  });

  test.each([
    ['issuer', { issuer: 'http://a.example' }, '"http://a.example"'],
    ['issuer', { issuer: 'a.example' }, '"a.example"'],
    ['issuer', { issuer: 7 }, '7'],
    ['jwksUri', { issuer: 'https://a.example', jwksUri: 'http://a.example/keys' }, '"http://a.example/keys"'],
    ['jwksUri', { jwksUri: 'https://a.example/keys' }, '"https://a.example/keys"'],
    ['audience', { audience: 'api' }, '"api"'],
    ['issuer', { issuer: '' }, '""'],
    ['issuer', { issuer: ' https://a.example' }, '" https://a.example"'],
    ['issuer', { issuer: 'https://user:password@a.example' }, '"https://user:password@a.example"'],
    ['issuer', { issuer: 'https://a.example?x' }, '"https://a.example?x"'],
    ['issuer', { issuer: 'https://[a' }, '"https://[a"'],
    ['audience', { issuer: 'https://a.example', audience: '' }, '""'],
    ['scope', { scope: '' }, '""'],
    ['scope', { issuer: 'https://a.example', scope: 'a b' }, '"a b"'],
    ['scope', { scope: 'plants' }, '"plants"'],
    ['scope', { scope: 'plants/create plants/read' }, '"plants/create plants/read"'],
    ['scope', { scope: ['plants/create'] }, '["plants/create"]'],
  ])('refuse a wrong %s in a sentence with key, value and what is allowed: %j', (key, context, value) => {
    expect(() => read(context)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^The context value .* must be .*\.$/) }),
    );
    expect(() => read(context)).toThrow(`${key} is ${value}`);
  });
});
