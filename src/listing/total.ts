import type { ListDeclaration } from './list.ts'

/** How many rows there are; `estimated` when it is the planner's guess. */
export interface Total {
  total: number | undefined
  estimated: boolean
}

export type Counting = ListDeclaration['count']

const byCost: readonly Counting[] = ['none', 'estimate', 'exact']

/** How exactly a client wants the total. Never more exactly than the list declares: that is what its owner pays for. */
export function readCount(
  list: Pick<ListDeclaration, 'count' | 'choices'>,
  text: string | undefined,
): Counting {
  const asked = list.choices ? byCost.indexOf(text as Counting) : -1
  return asked < 0 ? list.count : byCost[Math.min(asked, byCost.indexOf(list.count))]!
}
