import type { ListDeclaration } from '../list.ts'

export type CountMode = ListDeclaration['count']

const byCost: readonly CountMode[] = ['none', 'estimate', 'exact']

/** How the rows are counted: as the request asks, but never at a higher cost than the list allows. */
export function readCountMode(
  list: Pick<ListDeclaration, 'count' | 'choices'>,
  text: string | undefined,
): CountMode {
  const asked = list.choices ? byCost.indexOf(text as CountMode) : -1
  return asked < 0 ? list.count : byCost[Math.min(asked, byCost.indexOf(list.count))]!
}
