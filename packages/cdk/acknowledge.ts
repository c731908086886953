import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Acknowledges a cdk-nag finding (`id`) for the construct's main resource only, not for its other resources. */
export const acknowledge = (construct: IConstruct, id: string, reason: string): void =>
  Validations.of(construct.node.defaultChild ?? construct).acknowledge({ id, reason });
