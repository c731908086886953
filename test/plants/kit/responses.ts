/** Delete this folder when the data is no longer plants: these tests are about an int64 `id` and about any text. */

import { conflict, type Item, newId, unknownField } from '@lambda-service/testing/data';
import {
  refusal,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceUnderTest,
} from '@lambda-service/testing/suite/responses';
import { describe, expect, test } from 'vitest';

const contentType = 'application/json';

const ok = (name: string, tag?: string) => ({ status: 200, body: tag === undefined ? { name } : { name, tag } });

/** Returns the item that the store must have for this plant. */
const item = (id: string, name: string, tag?: string): Item => ({
  id: { N: id },
  name: { S: name },
  ...(tag !== undefined && { tag: { S: tag } }),
});

/** Defines tests of createPlant's responses that depend on the types and the names of a plant's fields. */
export const testPlants = ({ send, read }: ServiceUnderTest): void => {
  const post = (body: ServiceRequest['body']): Promise<ServiceResponse> => send({ body, contentType });

  describe('createPlant stores a plant as sent', () => {
    test.each<[what: string, fields: string, name: string, tag?: string]>([
      ['with an empty name and tag', '"name":"","tag":""', '', ''],
      ['with U+0000 in the name', '"name":"a\\u0000b"', 'a\0b'],
      ['with text beyond ASCII', '"name":"\ufeff﷽ naïve e\u0301 🌱"', '\ufeff﷽ naïve e\u0301 🌱'],
      ['with an escaped U+FFFD', '"name":"\\ufffd\\uFFFD"', '\ufffd\ufffd'],
      ['with JSON escapes', '"n\\u0061me":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83c\\udf31"', '"\\/\b\f\n\r\té🌱'],
      ['with numbers in the name', '"name":"1.50 or 1234567890123456"', '1.50 or 1234567890123456'],
    ])('%s', async (_, fields, name, tag) => {
      const id = newId();
      expect(await post(`{"id":${id},${fields}}`)).toMatchObject(ok(name, tag));
      expect(await read(id)).toEqual(item(id, name, tag));
    });

    test('with any UTF-8 text, even if the content type makes the gateway encode the body in base64', async () => {
      const id = newId();
      const body = `{"id":${id},"name":"Löwenzahn 🌱\ufffd"}`;
      const request = { body, contentType: 'application/vnd.plant+json' };
      expect(await send(request)).toMatchObject(ok('Löwenzahn 🌱\ufffd'));
      expect(await read(id)).toEqual(item(id, 'Löwenzahn 🌱\ufffd'));
    });

    test.each([
      ['12.50E+1', '125'],
      ['0.9223372036854775807e19', '9223372036854775807'],
      ['9007199254740993', '9007199254740993'],
      ['9223372036854775807', '9223372036854775807'],
      ['-9223372036854775808', '-9223372036854775808'],
      ['-922337203685477580800e-2', '-9223372036854775808'],
    ])('if its id is written as %s, under the integer for which that stands', async (spelling, id) => {
      // An earlier run, or the test with another spelling of this id, may have stored a plant with this id already. The
      // name depends only on the id, so the stored plant equals this one, and the service returns 200.
      const name = `plant ${id}`;
      expect(await post(`{"id":${spelling},"name":"${name}"}`)).toMatchObject(ok(name));
      expect(await read(id)).toEqual(item(id, name));
    });

    test('if the plant is at most 400 KB', async () => {
      // In most AWS regions, DynamoDB refuses an update that sets two fields, as this one does, if their names and
      // values together have more than 400 KB minus 41 bytes: schemas/decisions.md
      const name = `é${'x'.repeat(409_600 - 41 - 'name'.length - 'tag'.length - 'shade'.length - Buffer.byteLength('é'))}`;
      expect(await post(JSON.stringify({ id: 8, name, tag: 'shade' }))).toMatchObject({ status: 200 });
      expect(await read('8')).toEqual(item('8', name, 'shade'));
    });
  });

  test('createPlant tells a plant with an empty tag or name from one with a tag and a name', async () => {
    const id = newId();
    expect(await post(`{"id":${id},"name":"Fern","tag":"shade"}`)).toMatchObject(ok('Fern', 'shade'));
    for (const other of ['"name":"Fern","tag":""', '"name":"","tag":"shade"'])
      expect(await post(`{"id":${id},${other}}`)).toMatchObject(refusal(conflict));
    expect(await post(`{"tag":"shade","${unknownField}":1,"name":"F\\u0065rn","id":${id}}`)).toMatchObject(
      ok('Fern', 'shade'),
    );
    expect(await read(id)).toEqual(item(id, 'Fern', 'shade'));
  });

  describe('createPlant refuses, and does not store, a plant with', () => {
    test.each<[what: string, fields: string]>([
      ['no name', '"id":ID'],
      ['an id that is a string', '"id":"ID","name":"x"'],
      ['an id of one half', '"id":0.5,"name":"x"'],
      ['an id of 2^63', '"id":9223372036854775808,"name":"x"'],
      ['an id of -2^63-1', '"id":-9223372036854775809,"name":"x"'],
      ['an id too large for a double', '"id":1e400,"name":"x"'],
      ['an id that only rounding makes whole', '"id":1.0000000000000000001,"name":"x"'],
      ['a large id with a fraction', '"id":9007199254740993.5,"name":"x"'],
      ['a name that is a number', '"id":ID,"name":1'],
      ['a name that is null', '"id":ID,"name":null'],
      ['a tag that is null', '"id":ID,"name":"x","tag":null'],
      ['a lone surrogate in the name', '"id":ID,"name":"\\ud800"'],
      ['a lone surrogate in the tag', '"id":ID,"name":"x","tag":"a\\udc00b"'],
    ])('%s', async (_, fields) => {
      const id = newId();
      expect(await post(`{${fields.replace('ID', id)}}`)).toMatchObject(refusal(40002));
      expect(await read(id), 'item in the store').toBeUndefined();
    });

    test('several mistakes, with a message that names every invalid field and its rule', async () => {
      expect((await post('{"id":"1"}')).body).toEqual({
        error: 40002,
        message: 'id must be an integer from -9223372036854775808 to 9223372036854775807; name is required',
      });
    });
  });
};
