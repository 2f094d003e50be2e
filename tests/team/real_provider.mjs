// A real OpenID Connect provider, oidc-provider from npm: `node real_provider.mjs REDIRECT`; prints its issuer.
// Anyone who names an account signs in as it; `groups` are told as the accounts below have them.
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PROVIDER_FOLDER}/package.json`);
const { default: Provider } = await import(require.resolve("oidc-provider"));

const ACCOUNTS = {
  grace: { groups: ["Core", "Everyone"], preferred_username: "grace", name: "Grace Hopper" },
  alan: { groups: ["Everyone"], preferred_username: "alan", name: "Alan Turing" },
};

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "backscroll",
        client_secret: process.env.PROVIDER_SECRET,
        redirect_uris: [process.argv[2]],
        response_types: ["code"],
        grant_types: ["authorization_code"],
        token_endpoint_auth_method: "client_secret_basic",
      },
    ],
    pkce: { required: () => true, methods: ["S256"] },
    claims: { openid: ["sub"], profile: ["name", "preferred_username"], email: ["email"], groups: ["groups"] },
    conformIdTokenClaims: false,
    scopes: ["openid", "profile", "email", "groups"],
    findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id, ...(ACCOUNTS[id] ?? {}) }) }),
    cookies: { keys: ["not a secret: only for tests"] },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
