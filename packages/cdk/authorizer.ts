import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { ServiceFunction, type ServiceFunctionProps } from './service-function.ts';
import type { TrustedIssuer } from './settings.ts';

type AuthorizerProps = Omit<ServiceFunctionProps, 'environment' | 'timeout'> & { issuer: TrustedIssuer };

/** The function that decides, by a request's token, whether the API answers it. */
export class Authorizer extends ServiceFunction {
  constructor(scope: Construct, id: string, { issuer, ...props }: AuthorizerProps) {
    super(scope, id, {
      ...props,
      environment: {
        ISSUER: issuer.issuer,
        JWKS_URI: issuer.jwksUri,
        AUDIENCE: issuer.audience,
        CLIENT_IDS: issuer.clientIds,
        SCOPE_CLAIM: issuer.scopeClaim,
      },
      // API Gateway waits 10 s for an authorizer, and fetching the issuer's keys takes at most 3 s of that time.
      timeout: Duration.seconds(9),
    });
  }
}
