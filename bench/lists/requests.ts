import { adminKey } from '../load/sample.ts'
import { productQuery } from './queries.ts'
import { operatorRequests } from './operators.config.ts'
import { categories } from './seed.ts'

/** The requests to one list: to Postern, and those to the bare handler that mean the same. */
export interface ListRequests {
  path: string
  /** At least this share of bare Fastify's rate. */
  bound?: number
  isOperator?: boolean
  ours: string[]
  bare: string[]
}

const different = 40
const numbers = Array.from({ length: different }, (_, index) => index)

/** @param port of a running Postern, whose cursors of posts are collected by following them. */
export async function makeListRequests(port: number): Promise<ListRequests[]> {
  const products = numbers.map((number) => {
    const category = categories[number % categories.length]!
    return `/products?${new URLSearchParams({ ...productQuery, category, minPrice: String(10 * number) }).toString()}`
  })
  const users = numbers.map((number) => `/users?page=${number + 1}`)
  const events = numbers.map((number) => `/events?cursor=${number * 400}`)
  const posts = await followPosts(port)
  return [
    { path: '/users', ours: users, bare: users },
    { path: '/events', ours: events, bare: events },
    // The bound is for the list that filters and sorts.
    { path: '/products', bound: 0.9, ours: products, bare: products },
    { path: '/api/posts', ours: posts.map(({ ours }) => ours), bare: posts.map(({ bare }) => bare) },
    ...operatorRequests(different),
  ]
}

interface PostPage {
  data: { _id: string; createdAt: string }[]
  pageInfo: { nextCursor: string }
}

async function followPosts(port: number): Promise<{ ours: string; bare: string }[]> {
  const pages: { ours: string; bare: string }[] = []
  let path = '/api/posts'
  while (pages.length < different) {
    const { data, pageInfo } = (await get(port, path)) as PostPage
    const { createdAt, _id: id } = data.at(-1)!
    path = `/api/posts?${new URLSearchParams({ cursor: pageInfo.nextCursor }).toString()}`
    pages.push({ ours: path, bare: `/api/posts?${new URLSearchParams({ createdAt, id }).toString()}` })
  }
  return pages
}

/** Throws unless both answer with the same number of items, and with some. */
export async function compareAnswers(
  port: number,
  barePort: number,
  { ours, bare }: ListRequests,
): Promise<void> {
  for (const [index, path] of ours.entries()) {
    const [a, b] = await Promise.all([get(port, path), get(barePort, bare[index]!)])
    if (a.data.length === 0 || a.data.length !== b.data.length) {
      throw new Error(`${path}: ${a.data.length} items, the bare handler has ${b.data.length}`)
    }
  }
}

async function get(port: number, path: string): Promise<{ data: unknown[] }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { authorization: `Bearer ${adminKey}` },
  })
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as { data: unknown[] }
}
