import { countedOrder } from '../../maintained-counts/counted-order.ts'
import { createCounts } from '../../maintained-counts/statements.ts'
import type { SchemaPart } from './dialect.ts'

const users = countedOrder({ table: 'users', columns: ['id'], descending: false })

/** The tables of the specified lists, which belong to the operator, and the maintained counts of users. */
export const lists: SchemaPart = {
  tables: ({ engine, double, sortedText, strict }) => `
    -- One row for each product. Admins and imports write it.
    create table products (
      id ${sortedText} primary key, category ${sortedText} not null, price ${double} not null,
      stock ${double} not null, name ${sortedText} not null, created_at ${sortedText} not null
    ) ${strict};
    -- For the sort orders of GET /products, without and with a category. Each ends with the primary key.
    create index products_by_created on products (created_at, id);
    create index products_by_price on products (price, id);
    create index products_by_name on products (name, id);
    create index products_in_category_by_created on products (category, created_at, id);
    create index products_in_category_by_price on products (category, price, id);

    -- One row for each post. Admins and imports write it.
    create table posts (
      id ${sortedText} primary key, title text not null, body text not null, created_at ${sortedText} not null
    ) ${strict};
    -- For the sort order of GET /posts.
    create index posts_by_created on posts (created_at desc, id desc);

    -- The number of users, in total and in buckets by id, so that no page of GET /users counts or skips them all
    -- (docs/adr/0011-maintained-counts.md). Triggers on users write it, and a worker folds the changes.
    ${createCounts(users, engine).join(';\n')};
  `,
}
