/**
 * Two optional stacks, deployed by hand: every day, AWS Backup copies the table to another region.
 * packages/cdk/README.md explains deployment, costs and gaps.
 */
import {
  App,
  ArnFormat,
  CliCredentialsStackSynthesizer,
  Duration,
  type IReusableStackSynthesizer,
  Stack,
  Validations,
} from 'aws-cdk-lib';
import { BackupPlan, BackupPlanRule, BackupResource, BackupVault } from 'aws-cdk-lib/aws-backup';
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Schedule } from 'aws-cdk-lib/aws-events';
import { AwsSolutionsChecks } from 'cdk-nag';
import { acknowledge } from './acknowledge.ts';
import { recipeSettings } from './recipe-settings.ts';

/** Each copy is a full one: what the copies cost grows with this time. */
const keepCopies = Duration.days(14);

// Deploy with an administrator's credentials: infra/deployment-policy.json has no permissions for AWS Backup.
const app = new App({ defaultStackSynthesizer: new CliCredentialsStackSynthesizer() as IReusableStackSynthesizer });
const setting = recipeSettings(app);

const [service, region, copyRegion] = [setting('service'), setting('region'), setting('copyRegion')];
// A fixed name, because the plan's stack cannot refer to a resource of another region.
const backupVaultName = `${service}Copies`;
const copies = new Stack(app, `${service}Copies`, { env: { region: copyRegion } });
// Even an administrator cannot delete a copy before it expires without first changing the vault's policy.
new BackupVault(copies, 'Vault', { backupVaultName, blockRecoveryPointDeletion: true });

const stack = new Stack(app, `${service}Backup`, { env: { region } });
stack.addStackDependency(copies);
const copyArn = stack.formatArn({
  service: 'backup',
  region: copyRegion,
  resource: 'backup-vault',
  resourceName: backupVaultName,
  arnFormat: ArnFormat.COLON_RESOURCE_NAME,
});
const plan = new BackupPlan(stack, 'Plan', {
  backupVault: new BackupVault(stack, 'Vault'),
  backupPlanRules: [
    new BackupPlanRule({
      ruleName: 'Daily',
      // By default, a backup may begin up to eight hours late.
      startWindow: Duration.hours(1),
      scheduleExpression: Schedule.cron({ hour: '3', minute: '0' }),
      // In this region, point-in-time recovery is better.
      deleteAfter: Duration.days(1),
      copyActions: [
        {
          destinationBackupVault: BackupVault.fromBackupVaultArn(stack, 'Copies', copyArn),
          deleteAfter: keepCopies,
        },
      ],
    }),
  ],
});
const table = TableV2.fromTableName(stack, 'Table', setting('table'));
const selection = plan.addSelection('Selection', { resources: [BackupResource.fromDynamoDbTable(table)] });
acknowledge(
  selection.node.findChild('Role'),
  'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup]',
  'AWS Backup needs what this policy of AWS has, and AWS extends it.',
);

Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
