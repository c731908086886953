import { expect, test } from 'vitest';
import { inlined } from '../document.ts';
import { contractWith } from './kit/compiled-contract.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const contract = contractWith(
  {},
  {
    Name: { ...ref('Text'), description: 'a name' },
    Text: { type: 'string', description: 'a text' },
    Tree: { properties: { child: ref('Tree') } },
  },
);

test.each<[what: string, value: object, expected: object]>([
  [
    'each reference of a chain, and keeps what stands beside it',
    ref('Name'),
    { type: 'string', description: 'a name' },
  ],
  ['a circle once', ref('Tree'), { properties: { child: ref('Tree') } }],
  ['no field of an example that only looks like a reference', { $ref: '#/a', b: 1 }, { $ref: '#/a', b: 1 }],
  [
    'no field with the name $ref',
    { properties: { $ref: ref('Text') } },
    { properties: { $ref: { type: 'string', description: 'a text' } } },
  ],
])('inlined replaces %s', (_, value, expected) => {
  expect(inlined(contract, value)).toEqual(expected);
});
