create table orders (id text primary key, amount integer not null, paid_at text not null);
