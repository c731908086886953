import { Aws, Duration, Fn, RemovalPolicy } from 'aws-cdk-lib';
import { Mfa, OAuthScope, ResourceServerScope, UserPool } from 'aws-cdk-lib/aws-cognito';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import type { TrustedIssuer } from './settings.ts';

/** A Cognito user pool without users, whose one machine client gets tokens by client_credentials. */
export class TokenIssuer extends Construct implements TrustedIssuer {
  readonly issuer: string;
  readonly jwksUri: string;
  /** Cognito's access tokens carry none. */
  readonly audience = 'none';
  readonly scopeClaim = 'scope';
  readonly userPoolId: string;
  readonly clientId: string;
  /** Where the client posts its id and secret, HTTP Basic, for a token. */
  readonly tokenUrl: string;

  constructor(parent: Construct, id: string, scope: string) {
    super(parent, id);
    const [identifier = '', scopeName = ''] = scope.split('/');
    const pool = new UserPool(this, 'Pool', {
      selfSignUpEnabled: false,
      // For users that somebody might make by hand: no token of theirs is let in, for want of the scope.
      mfa: Mfa.REQUIRED,
      mfaSecondFactor: { otp: true, sms: false },
      passwordPolicy: {
        minLength: 16,
        requireDigits: true,
        requireLowercase: true,
        requireSymbols: true,
        requireUppercase: true,
      },
      // Without the client and the domain, which go with the stack, it would be of no use.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    acknowledge(
      pool,
      'AwsSolutions-COG8',
      'The plus plan, at a price for each token, protects the passwords of users. There are none.',
    );
    const permission = new ResourceServerScope({ scopeName, scopeDescription: 'Add plants' });
    const resourceServer = pool.addResourceServer('Api', { identifier, scopes: [permission] });
    const client = pool.addClient('Machine', {
      generateSecret: true,
      accessTokenValidity: Duration.hours(1),
      oAuth: {
        flows: { clientCredentials: true },
        scopes: [OAuthScope.resourceServer(resourceServer, permission)],
      },
    });
    // Domain prefixes are unique in a region, over all accounts: the stack's own id is too.
    const stackUuid = Fn.select(2, Fn.split('/', Aws.STACK_ID));
    const domain = pool.addDomain('Domain', { cognitoDomain: { domainPrefix: `plants-${stackUuid}` } });
    this.tokenUrl = `${domain.baseUrl()}/oauth2/token`;
    this.issuer = pool.userPoolProviderUrl;
    this.jwksUri = `${this.issuer}/.well-known/jwks.json`;
    this.userPoolId = pool.userPoolId;
    this.clientId = client.userPoolClientId;
  }
}
