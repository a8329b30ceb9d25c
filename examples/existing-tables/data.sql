-- Rows to try the lists with.
insert into shop.customers (id, email, name, country, postern_user, preferences, created_at) values
  ('6f1c2f6e-0000-4000-8000-000000000001', 'ada@example.com', 'Ada', 'GB', 'usr_ada', '{"newsletter": true}', '2026-01-05 09:00:00+00'),
  ('6f1c2f6e-0000-4000-8000-000000000002', 'bea@example.com', 'Bea', 'DE', null, null, '2026-01-06 10:30:00+01');

insert into shop.products (sku, name, price, tags, attributes, active, released) values
  ('LAMP-1', 'Lamp', 49.90, '{light,home}', '{"watts": 9.50}', true, '2025-11-01'),
  ('DESK-2', 'Desk', 249.00, '{home}', '{}', true, null),
  ('MUG-3', 'Mug', 7.50, '{}', '{"ml": 300}', false, '2024-03-15');

-- 60 orders, of which several have the same time.
insert into shop.orders (customer_id, status, total, gift, note, placed_at, sent_at)
select ('6f1c2f6e-0000-4000-8000-00000000000' || 1 + n % 2)::uuid,
  (enum_range(null::shop.order_status))[1 + n % 4], 10 + n * 3.25, n % 5 = 0,
  case when n % 10 = 0 then 'leave it with the neighbours' end,
  timestamptz '2026-02-01 08:00:00+00' + n / 3 * interval '1 day',
  case when n % 4 = 2 then timestamp '2026-02-03 12:00:00' + n / 3 * interval '1 day' end
from generate_series(1, 60) as n;

insert into shop.order_lines
select id, 1, case id % 3 when 0 then 'LAMP-1' when 1 then 'DESK-2' else 'MUG-3' end, 1 + id % 4, 10 from shop.orders
union all select id, 2, 'MUG-3', 1, 7.50 from shop.orders where id % 2 = 0;
