-- The role that Postern connects as: it owns a schema for its own tables, and only reads those of the shop.
-- psql -v password=… -f role.sql
create role postern login password :'password';
create schema postern authorization postern;
alter role postern set search_path = postern;

grant usage on schema shop to postern;
grant select on shop.customers, shop.products, shop.orders, shop.order_lines, shop.sales to postern;
