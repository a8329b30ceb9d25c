import { columns } from '../../src/events/store.ts'
import { readFilters } from '../../src/listing/filters.ts'
import { readOrder } from '../../src/listing/order.ts'
import { totalSql } from '../../src/listing/counts/counts.ts'
import { planOf, planPage, type Plan } from '../../src/listing/plan.ts'
import { posts, products } from '../../src/listing/resources/products-and-posts.ts'
import { users } from '../../src/listing/resources/users.ts'
import type { EngineName } from '../harness/databases.ts'
import { bareOperators } from './operators.config.ts'

export type Value = string | number
/** A parameter of the query string, by its name. */
export type Query = (name: string) => string | null

/** One list for a bare handler: Postern's very statements, and where their values come from. */
export interface BareList {
  statements: readonly Statement[]
  /** Rows that the client gets of those that were read. */
  limit: number
}

interface Statement {
  sql: string
  values: (query: Query) => Value[]
}

export const productQuery = { category: 'books', minPrice: '100', inStock: 'true', sort: '-price,name' }

/** By path. The statements are made by the code that Postern makes them with, so that they cannot differ. */
export function bareLists(engine: EngineName): Readonly<Record<string, BareList>> {
  const offset = (query: Query): Value => (Number(query('page')) - 1) * users.limit.default
  const filters = readFilters(products, productQuery).applied
  const page = (limit: number) => ({ rows: limit + 1, filters: [] })
  return {
    '/users': {
      limit: users.limit.default,
      statements: [
        // PostgreSQL tells the total with the page.
        ...(engine === 'sqlite' ? [statement(planOf(totalSql(users)), () => [])] : []),
        statement(
          planPage(
            {
              list: users,
              filters: [],
              order: readOrder(users, undefined),
              rows: users.limit.default,
              from: 'offset',
              total: engine === 'sqlite' ? undefined : totalSql(users),
            },
            engine,
          ),
          (query) => [offset(query)],
        ),
      ],
    },
    '/events': {
      limit: 20,
      statements: [
        {
          sql: `select ${columns} from events e where e.id > ${place(engine, 1)} and e.id <= ${place(engine, 2)} order by e.id limit ${place(engine, 3)}`,
          values: (query) => [Number(query('cursor')), Number.MAX_SAFE_INTEGER, 21],
        },
      ],
    },
    '/products': {
      limit: products.limit.default,
      statements: [
        statement(
          planPage(
            {
              ...page(products.limit.default),
              list: products,
              filters,
              order: readOrder(products, productQuery.sort),
              from: 'start',
            },
            engine,
          ),
          (query) => [query('category')!, Number(query('minPrice'))],
        ),
      ],
    },
    '/api/posts': {
      limit: posts.limit.default,
      statements: [
        statement(
          planPage(
            { ...page(posts.limit.default), list: posts, order: readOrder(posts, undefined), from: 'key' },
            engine,
          ),
          (query) => [query('createdAt')!, query('id')!],
        ),
      ],
    },
    ...bareOperators(engine),
  }
}

function statement({ sql, slots }: Plan, values: (query: Query) => Value[]): Statement {
  return {
    sql,
    values(query) {
      const given = values(query)
      return slots.map((slot) => given[slot]!)
    },
  }
}

const place = (engine: EngineName, number: number): string => (engine === 'postgres' ? `$${number}` : '?')
