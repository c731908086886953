import { Aws, Duration, Fn, RemovalPolicy } from 'aws-cdk-lib';
import { Mfa, OAuthScope, ResourceServerScope, UserPool } from 'aws-cdk-lib/aws-cognito';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { ConfigurationError, type Settings, type TrustedIssuer } from './settings.ts';

type TokenIssuerProps = Pick<Settings, 'stage' | 'clientIds'> & { scopes: string[]; domainPrefix: string };

/** Returns the issuer whose tokens the API accepts: an external one or, without it, a new Cognito pool. */
export const trustedIssuer = (
  scope: Construct,
  id: string,
  { externalIssuer, ...props }: TokenIssuerProps & Pick<Settings, 'externalIssuer'>,
): TrustedIssuer & { outputs: Record<string, string> } => {
  const addPool = () => new TokenIssuer(scope, id, props);
  if (externalIssuer === undefined) return addPool();
  // In `prod`, keep the pool while another issuer is trusted: packages/cdk/decisions.md.
  if (props.stage === 'prod' && resourceOf(props.scopes) !== undefined) addPool();
  return { ...externalIssuer, outputs: { Issuer: externalIssuer.issuer } };
};

/** A Cognito user pool without users. Its one machine client gets tokens with the client_credentials grant. */
export class TokenIssuer extends Construct implements TrustedIssuer {
  readonly issuer: string;
  readonly jwksUri: string;
  /** Cognito's access tokens have no `aud`, so the authorizer checks their client instead. */
  readonly audience = 'none';
  readonly clientIds: string;
  readonly scopeClaim = 'scope';
  readonly outputs: { TokenUrl: string; ClientId: string; UserPoolId: string };

  /** @throws ConfigurationError if a Cognito resource server cannot have these scopes */
  constructor(parent: Construct, id: string, { scopes, stage, clientIds, domainPrefix }: TokenIssuerProps) {
    super(parent, id);
    const identifier = resourceOf(scopes);
    if (identifier === undefined) {
      const needed = 'Cognito needs scopes of the form RESOURCE/PERMISSION with one RESOURCE';
      throw new ConfigurationError(`${needed}, but schemas/openapi.yaml has ${scopes.join(' ')}.`);
    }
    const pool = new UserPool(this, 'Pool', {
      selfSignUpEnabled: false,
      // For users that someone adds by hand. Their tokens lack our scopes, so they cannot call the API.
      mfa: Mfa.REQUIRED,
      mfaSecondFactor: { otp: true, sms: false },
      passwordPolicy: {
        minLength: 16,
        requireDigits: true,
        requireLowercase: true,
        requireSymbols: true,
        requireUppercase: true,
      },
      deletionProtection: stage === 'prod',
      removalPolicy: stage === 'prod' ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    acknowledge(
      pool,
      'AwsSolutions-COG8',
      'The plus plan, which costs money per token, protects the passwords of users. The pool has no users.',
    );
    const permissions = scopes.map((scope) => {
      const scopeName = scope.slice(identifier.length + 1);
      return new ResourceServerScope({ scopeName, scopeDescription: `${scopeName} ${identifier}` });
    });
    const resourceServer = pool.addResourceServer('Api', { identifier, scopes: permissions });
    const client = pool.addClient('Machine', {
      generateSecret: true,
      accessTokenValidity: Duration.hours(1),
      oAuth: {
        flows: { clientCredentials: true },
        scopes: permissions.map((permission) => OAuthScope.resourceServer(resourceServer, permission)),
      },
    });
    // A domain prefix must be unique in its region across all accounts, so it contains the UUID in the stack's id.
    const stackUuid = Fn.select(2, Fn.split('/', Aws.STACK_ID));
    const domain = pool.addDomain('Domain', { cognitoDomain: { domainPrefix: `${domainPrefix}-${stackUuid}` } });
    if (stage === 'prod') {
      const kept = [resourceServer, client, domain];
      for (const each of kept) each.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
    }
    this.issuer = pool.userPoolProviderUrl;
    this.jwksUri = `${this.issuer}/.well-known/jwks.json`;
    this.clientIds = [client.userPoolClientId, ...(clientIds === undefined ? [] : [clientIds])].join(',');
    const TokenUrl = `${domain.baseUrl()}/oauth2/token`;
    this.outputs = { TokenUrl, ClientId: client.userPoolClientId, UserPoolId: pool.userPoolId };
  }
}

/** Returns the RESOURCE in scopes RESOURCE/PERMISSION, or undefined if a Cognito resource server cannot have the scopes. */
export const resourceOf = (scopes: string[]): string | undefined =>
  /^([\w.:-]+)\/[\w.:-]+(?: \1\/[\w.:-]+)*$/.exec(scopes.join(' '))?.[1];
