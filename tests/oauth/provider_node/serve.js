// An OpenID Connect provider with its accounts in memory: `node serve.js`, which prints its issuer.
import { createServer } from 'node:http';
import { generateKeyPairSync, randomBytes, webcrypto } from 'node:crypto';
import Provider from 'oidc-provider';

// What the provider uses and node 18, that of Debian 12, does not have.
globalThis.crypto ??= webcrypto;
URL.parse ??= (url) => (URL.canParse(url) ? new URL(url) : null);

const PASSWORD = 'a provided password';
const ACCOUNTS = {
  ada: { sub: 'ada', name: 'Ada Lovelace', email: 'ada@example.com', email_verified: true },
  eve: { sub: 'eve', name: 'Eve', email: 'ada@example.com', email_verified: false },
};

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const SETTINGS = {
  // Tests register their clients, whose callback addresses are not known before.
  features: { devInteractions: { enabled: false }, registration: { enabled: true } },
  pkce: { required: () => true },
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'test', use: 'sig' }] },
  cookies: { keys: [randomBytes(32).toString('hex')] },
  claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  findAccount: (_context, id) =>
    ACCOUNTS[id] && { accountId: id, claims: () => ACCOUNTS[id] },
};

const FORMS = {
  login: `<h1>Log in at the provider</h1>
    <label>Name <input name="login"></label>
    <label>Password <input name="password" type="password"></label>
    <button>Log in</button>`,
  consent: '<h1>May the service know who you are?</h1><button>Allow</button>',
};

async function interact(provider, request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (request.method === 'GET') {
    response.setHeader('Content-Type', 'text/html');
    response.end(`<!doctype html><title>Provider</title><form method="post">${FORMS[prompt.name]}</form>`);
    return;
  }
  const form = await readForm(request);
  const result = prompt.name === 'login'
    ? logIn(form)
    : { consent: { grantId: await grant(provider, prompt.details, params, session) } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

async function readForm(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  return new URLSearchParams(text);
}

function logIn(form) {
  const isKnown = form.get('login') in ACCOUNTS && form.get('password') === PASSWORD;
  return isKnown
    ? { login: { accountId: form.get('login'), remember: false } }
    : { error: 'access_denied', error_description: 'wrong name or password' };
}

async function grant(provider, details, params, session) {
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  if (details.missingOIDCScope) grant.addOIDCScope(details.missingOIDCScope.join(' '));
  if (details.missingOIDCClaims) grant.addOIDCClaims(details.missingOIDCClaims);
  return grant.save();
}

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, SETTINGS);
  const serve = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url.startsWith('/interaction/')) return serve(request, response);
    return interact(provider, request, response).catch((error) => {
      response.statusCode = 500;
      response.end(String(error));
    });
  });
  console.log(issuer);
});
