import { functionTimeout } from '@lambda-service/runtime/time-budget';
import { Duration } from 'aws-cdk-lib';
import type { HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import type { Construct } from 'constructs';
import { ServiceFunction, type ServiceFunctionProps } from './service-function.ts';
import { ConfigurationError } from './settings.ts';

/** An operation as `operations` in functions/generated/contract.ts describes it. */
export type Operation = {
  method: keyof typeof HttpMethod;
  path: string;
  scopes: readonly string[];
  parameters: readonly { name: string; in: string }[];
};

/**
 * Lists the routes of a contract, each with the function that answers it.
 * @throws ConfigurationError that names an operation without a function
 */
export const listRoutes = <Id extends string>(
  operations: Readonly<Record<Id, Operation>>,
  functions: Readonly<Record<NoInfer<Id>, ServiceFunction>>,
) =>
  (Object.entries(operations) as [Id, Operation][]).map(([id, { method, path }]) => {
    const fn: ServiceFunction | undefined = functions[id];
    if (fn === undefined)
      throw new ConfigurationError(`The contract has the operation ${id}, but the stack has no function for it.`);
    return { method, path, name: fn.node.id, fn };
  });

/** Returns every scope of a contract once. */
export const scopesOf = (operations: Readonly<Record<string, Operation>>): string[] => [
  ...new Set(Object.values(operations).flatMap(({ scopes }) => scopes)),
];

type OperationFunctionProps = Omit<ServiceFunctionProps, 'timeout'> & { timeout?: Duration };

/**
 * The function of an operation. The runtime responds 2.7 s before the time-out, which is 5 s unless `timeout` is longer.
 * @throws ConfigurationError if the time-out leaves too little time to respond, or is longer than the gateway waits
 */
export class OperationFunction extends ServiceFunction {
  constructor(scope: Construct, id: string, props: OperationFunctionProps) {
    const { timeout = Duration.millis(functionTimeout) } = props;
    const [least, most] = [functionTimeout / 1_000, 29];
    if (timeout.toSeconds() < least || timeout.toSeconds() > most)
      throw new ConfigurationError(`The time-out of ${id} must be from ${least} to ${most} seconds.`);
    super(scope, id, { ...props, timeout });
  }
}
