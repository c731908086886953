/** The commands for a deployed stack share this. AWS credentials and region come from the environment. */

const noRegion = 'no region is set; set AWS_REGION, for example AWS_REGION=eu-central-1';

/** Advice for SDK errors whose own messages do not say what to do. */
const advice = new Map([
  ['Region is missing', noRegion],
  // The SDK's message if AWS_REGION is set but empty.
  ['Region not accepted: region="" is not a valid hostname component.', noRegion],
  [
    'Could not load credentials from any providers',
    'no AWS credentials were found; set AWS_PROFILE to a profile that has credentials, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  ],
]);

/** Says in one sentence what went wrong in a call to AWS, and what to do about it if that is known. */
export const explain = (error: unknown): string => {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return advice.get(message) ?? message;
};

/** The SDK reads only AWS_REGION; users of the AWS CLI may have set AWS_DEFAULT_REGION instead. */
export const region =
  process.env['AWS_DEFAULT_REGION'] && !process.env['AWS_REGION'] ? { region: process.env['AWS_DEFAULT_REGION'] } : {};
