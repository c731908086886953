import middy from '@middy/core';
import { expect, test } from 'vitest';
import type { Validator } from '../../../functions/generated/validators.js';
import { validBody } from '../../../functions/http/valid-body.ts';
import { lambdaContext } from '../../kit/gateway-events.ts';

test('validBody passes on the error of a validator that throws', async () => {
  const broken = (() => {
    throw new TypeError('oops');
  }) as unknown as Validator<object>;
  const handler = middy<object, unknown>()
    .use(validBody(broken))
    .handler(() => 'let in');
  await expect(handler({}, lambdaContext)).rejects.toThrow(TypeError);
});
