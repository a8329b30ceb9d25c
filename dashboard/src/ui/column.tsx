import type { ReactNode } from 'react'
import { Button } from './button.tsx'

/** `primary`: the first line. `aside`: at its right end. `secondary`: the second line. `hidden`: in neither. */
export type PhonePlace = 'primary' | 'aside' | 'secondary' | 'hidden'

export interface Column<Row> {
  /** Unique in the table. */
  key: string
  header: ReactNode
  cell: (row: Row) => ReactNode
  /** Numbers stand at the right. */
  align?: 'right'
  /** A CSS width such as `8rem`; without it the column shares what is left. */
  width?: string
  /** The place in the two lines that a row has on a telephone. Default: see `phonePlaces`. */
  phone?: PhonePlace
  /** Shown as a button in the header that asks for another order. */
  sort?: { direction: 'asc' | 'desc' | undefined; onSort: () => void }
}

/** The last column: a button for each row. */
export function actionColumn<Row>({
  action,
  nameOf,
  isOffered = () => true,
  onAction,
}: {
  /** The text of the buttons, of one or two words. */
  action: string
  /** For screen readers, which get the name with the text of the button. */
  nameOf: (row: Row) => string
  isOffered?: (row: Row) => boolean
  onAction: (row: Row) => void
}): Column<Row> {
  return {
    key: 'action',
    header: <span className="sr-only">Action</span>,
    width: '8rem',
    align: 'right',
    phone: 'aside',
    cell: (row) =>
      isOffered(row) && (
        <Button small kind="danger" aria-label={`${action} ${nameOf(row)}`} onClick={() => onAction(row)}>
          {action}
        </Button>
      ),
  }
}
