/** What the commands that call AWS share: AWS's errors in words, and the resources of a stack. */
import { CloudFormation, type StackResourceSummary } from '@aws-sdk/client-cloudformation';

/** AWS SDK error messages that do not say what to do, each with the message to show instead. */
const advice = new Map([
  ['Region is missing', 'no region is set; set AWS_REGION, for example AWS_REGION=eu-central-1'],
  [
    'Could not load credentials from any providers',
    'no AWS credentials were found; set AWS_PROFILE to a profile that has credentials, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
]);

/** Says in one sentence why a call to AWS failed, and what to do about it if that is known. */
export const explain = (error: unknown): string => {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return advice.get(message) ?? message;
};

/** Waits for a call to AWS. @throws Error with one sentence: `failure`, and the reason */
export const orExplain = async <T>(failure: string, call: () => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    throw new Error(`${failure}: ${explain(error)}`, { cause: error });
  }
};

/** Lists the resources of a stack. */
export const listResources = (stack: string): Promise<StackResourceSummary[]> =>
  orExplain(`The stack ${stack} cannot be read`, async () => {
    const found: StackResourceSummary[] = [];
    const pages = new CloudFormation().paginateListStackResources({ StackName: stack });
    for await (const { StackResourceSummaries = [] } of pages) found.push(...StackResourceSummaries);
    return found;
  });
