// A real OpenID Connect provider. Started by the tests: PORT and a JSON document (CONFIG) of people, keys and clients.
import { readFileSync } from 'node:fs';
import { Provider } from 'oidc-provider';

const port = Number(process.env.PORT);
const { people, jwks, clients } = JSON.parse(readFileSync(process.env.CONFIG, 'utf8'));
const issuer = `http://127.0.0.1:${port}`;

const provider = new Provider(issuer, {
  clients,
  jwks: { keys: jwks },
  cookies: { keys: ['tests'] },
  conformIdTokenClaims: false,
  claims: {
    openid: ['sub', 'org_id', 'roles', 'acr', 'amr', 'groups'],
    email: ['email', 'email_verified'],
    profile: ['name'],
  },
  enabledJWA: {
    idTokenSigningAlgValues: ['RS256', 'PS256', 'ES256', 'Ed25519', 'EdDSA'],
  },
  pkce: { required: () => true },
  findAccount: (_, id) => (id in people ? { accountId: id, claims: () => ({ sub: id, ...people[id] }) } : undefined),
  extraTokenClaims: (_, token) => people[token.clientId],
  // Whom it tells of a logout is on loopback, where it would connect to nobody, and may be slower than it would wait.
  fetch: (url, { dispatcher: _, signal: __, ...options }) => fetch(url, options),
  features: {
    backchannelLogout: { enabled: true },
    clientCredentials: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_, __, resource) => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource, client) => ({
        scope: '',
        audience: resource.replace('urn:', ''),
        accessTokenFormat: 'jwt',
        accessTokenTTL: 300,
        jwt: { sign: { alg: client.idTokenSignedResponseAlg } },
      }),
    },
  },
});
provider.on('server_error', (_, error) => console.error(error));
provider.on('backchannel.error', (_, error) => console.error(error));
provider.listen(port, '127.0.0.1', () => console.log(`listening on ${issuer}`));
