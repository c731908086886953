/** Tests that docs/operate/backup.ts, run as docs/operate/backup.md says, synthesizes without cdk-nag findings. */
import { expect, test } from 'vitest';
import { readRecipe } from '../kit/recipes.ts';
import { propertiesOf, resolve } from '../kit/template.ts';

const { keys, synthesize } = readRecipe('docs/operate/backup.md');
const settings: Record<string, string> = {
  table: 'PlantStore-Table1',
  region: 'eu-central-1',
  copyRegion: 'eu-west-1',
};

test('the recipe for backups copies the table to a vault in another region every day, from which nobody can delete a copy', async () => {
  expect(keys).toEqual(Object.keys(settings));
  const { code, said, templateOf } = await synthesize(settings);
  expect([code, said]).toEqual([0, expect.not.stringMatching(/error|violation|warning/i)]);

  const [vault] = Object.values(propertiesOf('AWS::Backup::BackupVault', templateOf('PlantStoreCopies')));
  const deletion = expect.arrayContaining(['backup:DeleteRecoveryPoint']);
  expect(vault?.['AccessPolicy']).toMatchObject({ Statement: [{ Effect: 'Deny', Action: deletion }] });

  const template = templateOf('PlantStoreBackup');
  const [plan] = Object.values(propertiesOf('AWS::Backup::BackupPlan', template));
  const [rule] = Object(plan?.['BackupPlan']).BackupPlanRule;
  expect(rule).toMatchObject({ ScheduleExpression: 'cron(0 3 * * ? *)', Lifecycle: { DeleteAfterDays: 1 } });
  const [{ DestinationBackupVaultArn: copies, Lifecycle }] = rule.CopyActions;
  expect(resolve(copies)).toBe(`arn:aws:backup:eu-west-1:AWS::AccountId:backup-vault:${vault?.['BackupVaultName']}`);
  expect(Lifecycle).toEqual({ DeleteAfterDays: 14 });

  const [selection] = Object.values(propertiesOf('AWS::Backup::BackupSelection', template));
  const [table] = Object(selection?.['BackupSelection']).Resources;
  expect(resolve(table)).toBe('arn:aws:dynamodb:eu-central-1:AWS::AccountId:table/PlantStore-Table1');
});

test('the recipe for backups cannot be synthesized if a setting is missing; the error names that setting', async () => {
  const { copyRegion: _, ...rest } = settings;
  const { code, said } = await synthesize(rest);
  expect([code, said]).toEqual([1, expect.stringContaining('The recipe needs -c copyRegion=…')]);
});
