import { CfnOutput, PermissionsBoundary, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/**
 * What a service is called: `title` by people, the others in AWS. The names of its resources begin with `stack`. `tag`
 * is the value of the tag `service`, `domainPrefix` the beginning of the address of its Cognito pool, and `table` the id
 * of the table that holds its items.
 */
export type ServiceNames = { title: string; stack: string; tag: string; domainPrefix: string; table: string };

/** @example stackName(names, 'dev') // 'OrderStore-dev' */
export const stackName = ({ stack }: ServiceNames, stageName: string): string =>
  stageName === 'prod' ? stack : `${stack}-${stageName}`;

type ServiceStackProps = Pick<Settings, 'stage' | 'stageName' | 'tags' | 'permissionsBoundary' | 'authorizerCache'> & {
  names: ServiceNames;
};

/** A stack with the name of its stage, whose tags `service` and `stage` tell its resources from those of other stages. */
export class ServiceStack extends Stack {
  /** GuardedApi reads this setting here, so that no stack can forget to pass it. */
  readonly authorizerCache: number;

  constructor(app: Construct, props: ServiceStackProps) {
    const { names, stage, stageName, tags, permissionsBoundary, authorizerCache } = props;
    super(app, stackName(names, stageName), {
      description: `${names.title}: the API of schemas/openapi.yaml`,
      // CloudFormation gives these tags to all resources that support them. GitHubStack relies on service and stage.
      tags: { ...tags, service: names.tag, stage: stageName },
      terminationProtection: stage === 'prod',
      ...(permissionsBoundary !== undefined && {
        permissionsBoundary: PermissionsBoundary.fromName(permissionsBoundary),
      }),
    });
    this.authorizerCache = authorizerCache;
  }

  addOutputs(outputs: Record<string, string>): void {
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value });
  }
}
