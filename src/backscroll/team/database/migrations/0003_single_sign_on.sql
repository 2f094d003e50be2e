-- A browser that was sent to the identity provider and has not come back yet.
create table oidc_request (
  digest bytea primary key, -- of the state
  nonce text not null,
  verifier text not null,
  after text not null,
  invitation bytea, -- digest of the link that it began with: it says which person this will be
  expires timestamptz not null
);
