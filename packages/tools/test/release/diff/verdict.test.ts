import { expect, test } from 'vitest';
import { type Finding, functionsWithNewCode, withoutHashes } from '../../../release/diff/template.ts';
import { advice, explainRename, verdictOn } from '../../../release/diff/verdict.ts';

const found = (...rules: Finding['rule'][]): Finding[] => rules.map((rule) => ({ rule, what: `What ${rule} says.` }));

test('diff forbids new permissions and new routes, unless --allow names each of these rules', () => {
  expect(verdictOn([], [])).toEqual({ lines: ['Nothing needs more than a review.'], isGood: true });
  expect(verdictOn(found('iam', 'iam'), ['route'])).toEqual({
    lines: ['FORBIDDEN: iam (--allow iam or the label allow-iam allows it)', '- What iam says.', '- What iam says.'],
    isGood: false,
  });
  expect(verdictOn(found('iam'), ['iam'])).toEqual({ lines: ['allowed: iam', '- What iam says.'], isGood: true });
  expect(verdictOn(found('iam', 'route'), ['iam']).isGood).toBe(false);
});

test.each<Finding['rule']>(['loss', 'open-route', 'contract'])('diff --allow has no effect on %s', (rule) => {
  const { lines, isGood } = verdictOn(found(rule), ['iam', 'route', rule]);
  expect(isGood).toBe(false);
  expect(lines[0]).toBe(`FORBIDDEN: ${rule} (nothing allows it)`);
  expect(lines.includes(advice)).toBe(rule === 'contract');
});

const shop = { name: 'shop', stacks: ['Shop'] };

test('diff says what to do about a commit from before a rename: in a pull request, merge past the check', () => {
  const sentences = explainRename('HEAD^1', shop, { name: 'pub', stacks: ['Pub', 'PubOidc'] });
  expect(sentences).toMatch(/^Nothing is compared: HEAD\^1 is from before the project was renamed from shop to pub, /);
  expect(sentences).toContain(' would create Pub and PubOidc beside Shop, which would stay as it is.');
  expect(sentences).toMatch(/ In the pull request that renames, an administrator merges past this check\.$/);
});

test.each([
  ['the project has the same name', { ...shop, stacks: ['Other'] }],
  ['a stack has the same name', { name: 'pub', stacks: ['Pub', 'Shop'] }],
])('diff compares as usual if %s', (_, now) => {
  expect(explainRename('HEAD', shop, now)).toBeUndefined();
});

test("diff reports a function's new code once, and ignores the hashes that change with the code", () => {
  const template = (digit: string) => ({
    Resources: {
      Create: {
        Type: 'AWS::Lambda::Function',
        Properties: { Code: { S3Key: `${digit.repeat(64)}.zip` }, Environment: { SHA256: digit.repeat(64) } },
      },
      [`CreateCurrentVersion0A1B2C3D${digit.repeat(32)}`]: { Type: 'AWS::Lambda::Version' },
      Live: { Type: 'AWS::Lambda::Alias', Properties: { Version: `CreateCurrentVersion0A1B2C3D${digit.repeat(32)}` } },
    },
  });
  expect(withoutHashes(template('1'))).toEqual(withoutHashes(template('2')));
  expect(functionsWithNewCode(template('1'), template('2'))).toEqual(['Create']);
  expect(functionsWithNewCode(template('1'), template('1'))).toEqual([]);
});

const id = 'FirstRole4AF3C001';
const ofType = (Type: string, ...ids: string[]) => ({
  Resources: Object.fromEntries(ids.map((id) => [id, { Type, Properties: { Role: { 'Fn::GetAtt': [id, 'Arn'] } } }])),
});
const roles = (...ids: string[]) => ofType('AWS::IAM::Role', ...ids);

test("withoutHashes removes the hash of a role's permissions wherever the template names the role", () => {
  expect(withoutHashes(roles(`${id}0a1b2c3d`))).toEqual(roles(id));
});

test.each([
  ['the id of another resource', ofType('AWS::SQS::Queue', `${id}0a1b2c3d`)],
  ["CDK's own hash", roles(id, 'FirstRole12345678', 'Rolefeedface4AF3C001')],
  ['a longer or shorter hash', roles(`${id}fa1b2c3d4`, `${id}0a1b2c3`)],
  ['the hashes of roles that would get the same id', roles(`${id}0a1b2c3d`, `${id}00000000`)],
])('withoutHashes keeps %s', (_, template) => {
  expect(withoutHashes(template)).toEqual(template);
});
