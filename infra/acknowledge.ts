import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Lets a rule of cdk-nag pass for the one resource that `construct` stands for, not for those that belong to it. */
export const acknowledge = (construct: IConstruct, id: string, reason: string): void =>
  Validations.of(construct.node.defaultChild ?? construct).acknowledge({ id, reason });
