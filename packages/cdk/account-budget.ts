import { createHash } from 'node:crypto';
import { Stack } from 'aws-cdk-lib';
import { CfnBudget } from 'aws-cdk-lib/aws-budgets';
import type { Construct } from 'constructs';

/**
 * Makes AWS mail `address` if the account spends more than `dollars` in a month, or is forecast to. It counts the whole
 * account: a filter by tag sees nothing until somebody activates the tag for billing by hand.
 */
export class AccountBudget extends CfnBudget {
  constructor(scope: Construct, id: string, dollars: number, address: string) {
    const mailIf = (notificationType: 'ACTUAL' | 'FORECASTED') => ({
      notification: { notificationType, comparisonOperator: 'GREATER_THAN', threshold: 100 },
      subscribers: [{ subscriptionType: 'EMAIL', address }],
    });
    // A generated name would not begin with the stack's, as infra/deployment-policy.json demands. Another address makes
    // another budget, which needs another name.
    const budgetName = `${Stack.of(scope).stackName}-${createHash('sha256').update(address).digest('hex').slice(0, 8)}`;
    super(scope, id, {
      budget: { budgetName, budgetType: 'COST', timeUnit: 'MONTHLY', budgetLimit: { amount: dollars, unit: 'USD' } },
      notificationsWithSubscribers: [mailIf('ACTUAL'), mailIf('FORECASTED')],
    });
  }
}
