import { Aws, Fn } from 'aws-cdk-lib';
import { OAuthScope, ResourceServerScope, UserPool } from 'aws-cdk-lib/aws-cognito';
import { Construct } from 'constructs';
import type { TrustedIssuer } from './settings.ts';

/** A Cognito user pool without users, whose one machine client gets tokens by client_credentials. */
export class TokenIssuer extends Construct implements TrustedIssuer {
  readonly issuer: string;
  readonly jwksUri: string;
  /** Cognito's access tokens carry none. */
  readonly audience = undefined;
  readonly userPoolId: string;
  readonly clientId: string;
  /** Where the client posts its id and secret, HTTP Basic, for a token. */
  readonly tokenUrl: string;

  constructor(parent: Construct, id: string, scope: string) {
    super(parent, id);
    const [identifier = '', scopeName = ''] = scope.split('/');
    const pool = new UserPool(this, 'Pool', { selfSignUpEnabled: false });
    const permission = new ResourceServerScope({ scopeName, scopeDescription: 'Add plants' });
    const resourceServer = pool.addResourceServer('Api', { identifier, scopes: [permission] });
    const client = pool.addClient('Machine', {
      generateSecret: true,
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
