/**
 * The AWS account and region that the emulator pretends to run in. ARNs contain both. Functions find the region in
 * AWS_REGION.
 */
export const account = { id: '000000000000', region: process.env['AWS_REGION'] || 'us-east-1' };

export const functionArn = (name: string): string => `arn:aws:lambda:${account.region}:${account.id}:function:${name}`;

export const tableArn = (name: string): string => `arn:aws:dynamodb:${account.region}:${account.id}:table/${name}`;
