import { expect, test } from 'vitest';
import { part } from '../../suite/part.ts';

part('model', () => test('is like a map', () => {}))();
part('kill', () => test('kills', () => expect.unreachable('This part is left out.')))();
