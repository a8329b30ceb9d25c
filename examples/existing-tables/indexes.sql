-- What the lists need beyond the shop's own indexes. The service names missing ones at its start.
-- Outside a transaction: `concurrently` lets the shop write while an index is built.
create index concurrently orders_by_time on shop.orders (placed_at, id);
create index concurrently orders_by_total on shop.orders (total, id);
create index concurrently orders_of_customer on shop.orders (customer_id, placed_at, id);
create index concurrently products_for_sale on shop.products (active, name, sku);
