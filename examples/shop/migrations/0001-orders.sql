create table orders (
  id text primary key,
  customer text not null,
  amount bigint not null,
  currency text not null,
  -- Milliseconds since 1970.
  paid_at bigint not null
);
create index orders_by_time on orders (paid_at, id);
create index orders_by_customer on orders (customer, paid_at, id);
