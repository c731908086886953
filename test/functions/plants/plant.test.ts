import { expect, test } from 'vitest';
import { toPlant } from '../../../functions/plants/plant.ts';

test('the Plant that toPlant returns has no id, and has a tag only if the NewPlant has one', () => {
  expect(JSON.stringify(toPlant({ id: 1, name: 'Moss', tag: '' }))).toBe('{"name":"Moss","tag":""}');
  expect(JSON.stringify(toPlant({ id: 1, name: 'Moss' }))).toBe('{"name":"Moss"}');
});
