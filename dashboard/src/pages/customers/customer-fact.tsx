import { Link } from '@tanstack/react-router'
import { Fact } from '../../ui/index.ts'
import { linkLook } from '../deliveries/delivery-table.tsx'

/** The owner of a subscriber; nothing for a subscriber without one. */
export function CustomerFact({ owner }: { owner: string | null }) {
  if (owner === null) return null
  return (
    <Fact name="Customer">
      <Link to="/customers/$owner" params={{ owner }} className={linkLook}>
        {owner}
      </Link>
    </Fact>
  )
}
