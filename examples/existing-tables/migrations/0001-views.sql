-- Runs as Postern's role, in Postern's schema: the shop's own schema does not change.
create view orders_of_users as
  select o.*, c.postern_user from shop.orders o join shop.customers c on c.id = o.customer_id
  where c.postern_user is not null;
