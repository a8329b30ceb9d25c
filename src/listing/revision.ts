import type { Item } from './items.ts'

/** Returns the function that completes items with data from outside their table. Called once for each answer or batch. */
export type Revision = () => Promise<(item: Item) => Item>
