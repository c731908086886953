/** Tests what a stack gets from a second table or a queue that somebody adds before its monitoring. */

import {
  arn,
  kinds,
  ofType,
  prod,
  propertiesOf,
  type Template,
  templateOf,
  withoutHashes,
} from '@lambda-service/testing/stack';
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { expect, test, vi } from 'vitest';
import type { Authorizer } from '../../packages/cdk/authorizer.ts';

vi.mock('../../packages/cdk/authorizer.ts', async (original) => {
  const { Authorizer: Usual } = await original<{ Authorizer: typeof Authorizer }>();
  /** Adds the parts beside the authorizer, which every stack makes before its monitoring. */
  class AuthorizerAndParts extends Usual {
    constructor(...[scope, ...others]: ConstructorParameters<typeof Authorizer>) {
      super(scope, ...others);
      new TableV2(scope, 'ShelfLabels', { partitionKey: { name: 'label', type: AttributeType.STRING } });
      const shelf = new Construct(scope, 'Shelf');
      const queue = new Queue(shelf, 'Unread');
      new Queue(shelf, 'Scans', { deadLetterQueue: { queue, maxReceiveCount: 3 } });
    }
  }
  return { Authorizer: AuthorizerAndParts };
});

const template: Template = withoutHashes(templateOf(kinds.prodWithIssuer).toJSON());
const added = (type: string): string[] =>
  Object.keys(ofType(type, template)).filter((each) => !Object.keys(ofType(type)).includes(each));

test('a second table has its own graphs, besides those of the first, and no function may use it', () => {
  expect(added('AWS::DynamoDB::GlobalTable')).toEqual(['ShelfLabels']);
  const dashboard = JSON.stringify(propertiesOf('AWS::CloudWatch::Dashboard', template));
  for (const title of ['Latency of the table', 'Consumed capacity', 'Refusals and errors of the table'])
    for (const name of [title, `${title} ShelfLabels`])
      expect(dashboard.replaceAll('\\', '')).toContain(`"title":"${name}"`);
  for (const type of ['AWS::IAM::Role', 'AWS::IAM::Policy', 'AWS::Lambda::Function'])
    expect(propertiesOf(type, template)).toEqual(propertiesOf(type, prod));
});

test('a dead-letter queue has an alarm, which is named after the queue that it serves and the construct around it, opens a ticket, and is on the dashboard', () => {
  const alarms = added('AWS::CloudWatch::Alarm');
  expect(alarms.map((each) => template.Resources[each]?.Properties)).toMatchObject([
    {
      AlarmName: 'PlantStore-ShelfScansDeadLetters',
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': ['ShelfUnread', 'QueueName'] } }],
      Statistic: 'Maximum',
      Threshold: 0,
    },
  ]);
  const ticket = template.Resources['MonitoringTicket']?.Properties;
  for (const each of [ticket, propertiesOf('AWS::CloudWatch::Dashboard', template)])
    expect(JSON.stringify(each)).toContain(JSON.stringify(arn(String(alarms[0]))));
});
