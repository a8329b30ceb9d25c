-- The database of a shop, as its own program made it. Postern reads these tables and never writes them.
create schema shop;

create type shop.order_status as enum ('open', 'paid', 'sent', 'returned');

create table shop.customers (
  id uuid primary key,
  email text not null unique,
  name text not null,
  country char(2) not null,
  -- The id of the user in Postern, once the customer has signed in.
  postern_user text unique,
  preferences json,
  created_at timestamptz not null default now()
);

create table shop.products (
  sku varchar(20) primary key,
  name text not null,
  price numeric(12, 2) not null,
  tags text[] not null default '{}',
  attributes jsonb not null default '{}',
  active boolean not null default true,
  released date
);

create table shop.orders (
  id bigint generated always as identity primary key,
  customer_id uuid not null references shop.customers,
  status shop.order_status not null default 'open',
  total numeric(12, 2) not null,
  gift boolean not null default false,
  note text,
  placed_at timestamptz not null default now(),
  -- Written by a part of the shop that knew no time zones.
  sent_at timestamp
);

-- The primary key has two columns, and a list needs one: the orders show these rows as an expansion.
create table shop.order_lines (
  order_id bigint not null references shop.orders,
  position int not null,
  sku varchar(20) not null references shop.products,
  quantity int not null check (quantity > 0),
  price numeric(12, 2) not null,
  primary key (order_id, position)
);

-- One row for each country and month, for the people who plan.
create view shop.sales as
  select c.country || '-' || to_char(date_trunc('month', o.placed_at at time zone 'UTC'), 'YYYY-MM') as id,
    c.country, date_trunc('month', o.placed_at at time zone 'UTC')::date as month,
    count(*) as orders, sum(o.total) as revenue
  from shop.orders o join shop.customers c on c.id = o.customer_id
  where o.status <> 'open'
  group by c.country, date_trunc('month', o.placed_at at time zone 'UTC');
