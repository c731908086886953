import { Aws } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';

/** The SNS topic for the start and end of every alarm. Subscribes `email`, if given; others may subscribe by hand. */
export class AlarmTopic extends Topic {
  constructor(scope: Construct, id: string, email: string | undefined) {
    super(scope, id, { enforceSSL: true });
    // SNS's default policy lets the account's alarms publish. enforceSSL replaces that policy, so grant the permission
    // again.
    const conditions = { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } };
    this.grantPublish(new ServicePrincipal('cloudwatch.amazonaws.com', { conditions }));
    if (email === undefined) return;
    acknowledge(
      this.addSubscription(new EmailSubscription(email)),
      'Serverless-SNSRedrivePolicy',
      'Nobody would read a queue of undelivered mails; the dashboard shows the alarms anyway.',
    );
  }
}
