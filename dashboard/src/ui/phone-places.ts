import type { Column, PhonePlace } from './column.tsx'

/** Columns that say how a row is stand at the right end of the first line. */
const asides: ReadonlySet<string> = new Set(['status', 'state'])

/**
 * The place of each column on a telephone. Without a `phone` of its own, the first column is the first line, and the next two are the
 * second line unless another column asks to be there.
 */
export function phonePlaces<Row>(columns: readonly Column<Row>[]): PhonePlace[] {
  const isAsked = (place: PhonePlace): boolean => columns.some(({ phone }) => phone === place)
  let [needsPrimary, left] = [!isAsked('primary'), isAsked('secondary') ? 0 : 2]
  return columns.map(({ key, phone }) => {
    if (phone) return phone
    if (asides.has(key)) return 'aside'
    if (!needsPrimary) return left-- > 0 ? 'secondary' : 'hidden'
    needsPrimary = false
    return 'primary'
  })
}
