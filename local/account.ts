/** The AWS account that this machine plays: for the ARNs in events, and for the SDK in the functions. */
export const account = { id: '000000000000', region: process.env['AWS_REGION'] || 'us-east-1' };

export const functionArn = (name: string): string => `arn:aws:lambda:${account.region}:${account.id}:function:${name}`;
