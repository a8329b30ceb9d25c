-- The tables of Passport's tutorial for Google, with an address for each user, after three people signed in. The last one linked a second
-- provider.
create table users (id serial primary key, name text, email text);
create table federated_credentials (
  id serial primary key, user_id integer not null, provider text not null, subject text not null, unique (provider, subject)
);
insert into users (name, email) values
  ('Ada Lovelace', 'ada@example.com'), ('The Octocat', 'octo@example.com'), ('Grace Hopper', 'grace@example.com');
insert into federated_credentials (user_id, provider, subject) values
  (1, 'https://accounts.google.com', '110169484474386276334'), (2, 'https://github.com', '583231'),
  (3, 'https://accounts.google.com', '330'), (3, 'https://github.com', '3003');
