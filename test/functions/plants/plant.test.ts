import { expect, test } from 'vitest';
import { toPlant } from '../../../functions/plants/plant.ts';

test('toPlant leaves out the id, and the tag if the NewPlant has none', () => {
  expect(JSON.stringify(toPlant({ id: 1, name: 'Moss', tag: '' }))).toBe('{"name":"Moss","tag":""}');
  expect(JSON.stringify(toPlant({ id: 1, name: 'Moss' }))).toBe('{"name":"Moss"}');
});
