/** Tests what a second table in infra/operations.ts brings (grants, environment, output, graphs), and a queue. */
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { expect, test } from 'vitest';
import { grants, tables } from '../../infra/operations.ts';
import { changedOperation, grantedActions } from '../kit/roll-out.ts';
import { kinds, templateOf } from '../kit/stacks.ts';
import { arn, ofType, permissionsIn, prod, propertiesOf, ref, type Template, withoutHashes } from '../kit/template.ts';

/** A table, and a queue with a dead-letter queue: the stack makes its tables before anything else. */
class ShelfLabelsTable extends TableV2 {
  constructor(scope: Construct, id: string) {
    const shelf = new Construct(scope, 'Shelf');
    const queue = new Queue(shelf, 'Unread');
    new Queue(shelf, 'Scans', { deadLetterQueue: { queue, maxReceiveCount: 3 } });
    super(scope, id, { partitionKey: { name: 'label', type: AttributeType.STRING } });
  }
}

/** Makes a stack with the table ShelfLabels, which the function of `changedOperation` may read if `isGranted`. */
const withTable = (isGranted: boolean): Template => {
  const { id } = changedOperation;
  const granted = grants[id];
  Object.assign(tables, { ShelfLabels: ShelfLabelsTable });
  if (isGranted) Object.assign(grants, { [id]: { ...granted, ShelfLabels: ['dynamodb:GetItem'] } });
  try {
    return withoutHashes(templateOf(kinds.prodWithIssuer).toJSON());
  } finally {
    Object.assign(grants, { [id]: granted });
    Reflect.deleteProperty(tables, 'ShelfLabels');
  }
};

const [granted, notGranted] = [withTable(true), withTable(false)];
const names = (type: string, template = prod) => Object.keys(ofType(type, template));
const added = (type: string): string[] => names(type, granted).filter((each) => !names(type).includes(each));

/** Lists the resources of a type that refer to the table. */
const referringTo = (type: string, template: Template): string[] =>
  names(type, template).filter((each) => JSON.stringify(template.Resources[each]).includes('"ShelfLabels"'));

/** What a role may do to the second table. */
const permissionsOf = (role: string): string[] =>
  (Object(propertiesOf('AWS::IAM::Role', granted)[role]).Policies as { PolicyDocument: object }[])
    .flatMap(({ PolicyDocument }) => permissionsIn(PolicyDocument))
    .filter((permission) => permission.includes('ShelfLabels'));

test('only the function that has a grant on a second table may use it, and has its name in its environment', () => {
  const { name } = changedOperation;
  expect(added('AWS::DynamoDB::GlobalTable')).toEqual(['ShelfLabels']);
  expect(referringTo('AWS::IAM::Role', granted)).toEqual([`${name}Role`]);
  expect(permissionsOf(`${name}Role`)).toEqual(['Allow dynamodb:GetItem: ShelfLabels.Arn']);
  expect(referringTo('AWS::Lambda::Function', granted)).toEqual([name]);
  expect(propertiesOf('AWS::Lambda::Function', granted)[name]).toMatchObject({
    Environment: { Variables: { SHELF_LABELS_TABLE_NAME: ref('ShelfLabels') } },
  });
  for (const type of ['AWS::IAM::Role', 'AWS::Lambda::Function']) expect(referringTo(type, notGranted)).toEqual([]);
  expect(grantedActions).not.toEqual([]);
});

test('a second table has its own output and graphs, besides those of the first', () => {
  expect(granted.Outputs).toMatchObject({ ...prod.Outputs, ShelfLabelsTableName: { Value: ref('ShelfLabels') } });
  const dashboard = JSON.stringify(propertiesOf('AWS::CloudWatch::Dashboard', granted));
  for (const title of ['Latency of the table', 'Consumed capacity', 'Refusals and errors of the table'])
    expect(dashboard.replaceAll('\\', '')).toContain(`"title":"${title} ShelfLabels"`);
});

test('a dead-letter queue has an alarm, which is named after the queue that it serves and the construct around it, opens a ticket, and is on the dashboard', () => {
  const alarms = added('AWS::CloudWatch::Alarm');
  expect(alarms.map((each) => granted.Resources[each]?.Properties)).toMatchObject([
    {
      AlarmName: 'PlantStore-ShelfScansDeadLetters',
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': ['ShelfUnread', 'QueueName'] } }],
      Statistic: 'Maximum',
      Threshold: 0,
    },
  ]);
  const ticket = granted.Resources['MonitoringTicket']?.Properties;
  for (const each of [ticket, propertiesOf('AWS::CloudWatch::Dashboard', granted)])
    expect(JSON.stringify(each)).toContain(JSON.stringify(arn(String(alarms[0]))));
});
