import { createHash } from 'node:crypto';
import { Aws, Lazy, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Stage } from './settings.ts';

/**
 * A function's role, with all permissions inline. Its logical id contains their hash, so a changed permission makes a new
 * role and a new version of the function: packages/cdk/decisions.md.
 */
export class VersionRole extends iam.Role {
  readonly #permissions: iam.PolicyDocument;

  constructor(scope: Construct, id: string, stage: Stage) {
    const permissions = new iam.PolicyDocument();
    super(scope, id, {
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
      // With this path, `aws iam list-roles` finds the roles of older versions, which are no longer in the stack.
      path: `/${Stack.of(scope).stackName}/${Aws.REGION}/`,
      inlinePolicies: { Permissions: permissions },
    });
    this.#permissions = permissions;
    this.applyRemovalPolicy(stage === 'prod' ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY);
    const role = this.node.defaultChild as iam.CfnRole;
    const name = this.stack.resolve(role.logicalId);
    // Compute the hash when the template is written, because permissions may be added until then.
    role.overrideLogicalId(Lazy.uncachedString({ produce: () => `${name}${hashOf(role)}` }));
  }

  /** CDK's grants call this. CDK would put the permission into a separate policy, which the next grant changes in place. */
  override addToPrincipalPolicy(statement: iam.PolicyStatement): iam.AddToPrincipalPolicyResult {
    this.#permissions.addStatements(statement);
    return { statementAdded: true, policyDependable: this };
  }

  /** @throws Error always, because a separate policy would change what older versions may do */
  override attachInlinePolicy({ node }: iam.Policy): never {
    throw new Error(
      `Add the permissions of ${node.path} with addToRolePolicy: a version's role takes no other policies.`,
    );
  }
}

const hashOf = (role: iam.CfnRole): string => {
  const { assumeRolePolicyDocument, managedPolicyArns, permissionsBoundary, policies } = role;
  const allowed = role.stack.resolve([assumeRolePolicyDocument, managedPolicyArns, permissionsBoundary, policies]);
  return createHash('sha256').update(JSON.stringify(allowed)).digest('hex').slice(0, 8);
};
