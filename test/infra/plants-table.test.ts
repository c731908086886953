import { expect, test } from 'vitest';
import { propertiesOf } from '../kit/template.ts';

test('the stack has exactly one table: on-demand, with the number `id` as its only key, and with point-in-time recovery', () => {
  expect(propertiesOf('AWS::DynamoDB::GlobalTable')).toMatchObject({
    Plants: {
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
      BillingMode: 'PAY_PER_REQUEST',
      Replicas: [
        {
          DeletionProtectionEnabled: true,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 35 },
        },
      ],
    },
  });
  expect(Object.keys(propertiesOf('AWS::DynamoDB::GlobalTable'))).toEqual(['Plants']);
});
