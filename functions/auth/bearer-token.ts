/** No token of a real issuer comes near this many characters, and a verifier must not be fed without a limit. */
const maxHeaderLength = 8_192;

/** RFC 6750 section 2.1 for the header, RFC 7515 section 7.1 for the token: three base64url parts and no padding. */
const bearerHeader = /^Bearer +(?<token>[\w-]+\.[\w-]+\.[\w-]+)$/i;

/** The JWT in the value of an Authorization header; undefined where there is anything else, or more. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization !== undefined && authorization.length <= maxHeaderLength
    ? bearerHeader.exec(authorization)?.groups?.['token']
    : undefined;
