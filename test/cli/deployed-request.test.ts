/** Tests which logs of a deployed stack are searched; deployed-request.e2e.ts tests what `npm run request` prints. */
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { CloudWatchLogsClient, StartQueryCommand } from '@aws-sdk/client-cloudwatch-logs';
import { expect, test, vi } from 'vitest';
import { findDeployedRequest } from '../../cli/deployed-request.ts';

test('npm run request searches the logs of the given number of days', async () => {
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  const log = { ResourceType: 'AWS::Logs::LogGroup', LogicalResourceId: 'Access', PhysicalResourceId: 'access' };
  vi.spyOn(CloudFormationClient.prototype, 'send').mockImplementation(async () => ({ StackResourceSummaries: [log] }));
  const searched: number[] = [];
  vi.spyOn(CloudWatchLogsClient.prototype, 'send').mockImplementation(async (command: object) => {
    if (!(command instanceof StartQueryCommand)) return { status: 'Complete', results: [] };
    const { startTime = 0, endTime = 0 } = command.input;
    searched.push((endTime - startTime) / (24 * 60 * 60));
    return { queryId: '1' };
  });
  await expect(findDeployedRequest('x', 'PlantStore', 7)).rejects.toThrow('no request x in the last 7 days');
  expect(searched).toEqual([7]);
});
