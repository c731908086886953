import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { expect, test } from 'vitest';
import { assertStorable, FieldNotStorable, NumberOutOfRange } from '../../dynamodb/storable.ts';

const nested = (levels: number): AttributeValue =>
  levels === 0 ? { S: 'a' } : levels % 2 === 0 ? { L: [nested(levels - 1)] } : { M: { a: nested(levels - 1) } };

const inNames = (name: string): AttributeValue => ({ L: [{ M: { [name]: { S: 'a' } } }] });

/** A number as an attribute, inside of others, and in a set. */
const numbers = (N: string): AttributeValue[] => [
  { N },
  { L: [{ S: 'a' }, { M: { N: { L: [{ N }] } } }] },
  { NS: ['1', N] },
];

test.each<[what: string, attributes: AttributeValue[], error?: new () => Error]>([
  ['the number 0', numbers('0')],
  ['the number -1e-130', numbers('-1e-130')],
  ['the number 9.9e-131', numbers('9.9e-131'), NumberOutOfRange],
  ['the number 9.99e125', numbers('9.99e125')],
  ['the number -1e126', numbers('-1e126'), NumberOutOfRange],
  ['32 levels of lists and maps', [nested(32)]],
  ['33 levels of lists and maps', [nested(33)], FieldNotStorable],
  ['a name without characters in a field', [inNames('')], FieldNotStorable],
  ['a name of 65,535 bytes in a field', [inNames('x'.repeat(65_535))]],
  ['a name of 65,536 bytes in UTF-8 in a field', [inNames('é'.repeat(32_768))], FieldNotStorable],
])('an item with %s is refused only if DynamoDB refuses it', (_, attributes, error) => {
  for (const more of attributes) {
    const check = expect(() => assertStorable({ tag: undefined, more }));
    if (error) check.toThrow(error);
    else check.not.toThrow();
  }
});
