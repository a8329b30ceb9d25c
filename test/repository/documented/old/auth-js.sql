-- What the adapter `pg` of Auth.js (@auth/pg-adapter 1.11.3, its schema.sql) wrote when three people signed in, the last one with two
-- providers. Tokens are shortened.
create table accounts (
  id serial primary key, "userId" integer not null, type varchar(255) not null, provider varchar(255) not null,
  "providerAccountId" varchar(255) not null, refresh_token text, access_token text, expires_at bigint, id_token text,
  scope text, session_state text, token_type text
);
create table sessions (
  id serial primary key, "userId" integer not null, expires timestamptz not null, "sessionToken" varchar(255) not null
);
create table users (
  id serial primary key, name varchar(255), email varchar(255), "emailVerified" timestamptz, image text
);
insert into users (name, email) values
  ('Ada Lovelace', 'ada@example.com'), ('The Octocat', 'octo@example.com'), ('Grace Hopper', 'grace@example.com');
insert into accounts ("userId", type, provider, "providerAccountId", id_token, scope, token_type) values
  (1, 'oidc', 'google', '110169484474386276334', 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMTAxNjk0ODQ0NzQzODYyNzYzMzQifQ.c2ln', 'openid', 'bearer'),
  (2, 'oauth', 'github', '583231', null, 'openid', 'bearer'),
  (3, 'oidc', 'google', '330', 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIzMzAifQ.c2ln', 'openid', 'bearer'),
  (3, 'oauth', 'github', '3003', null, 'openid', 'bearer');
