import { Link } from '@tanstack/react-router'
import { Fact } from '../../ui/index.ts'

interface Customer {
  owner: string | null
  ownerName: string | null
}

/** A link to a customer, by its display name where it has one. */
export function CustomerLink({ owner, ownerName }: Customer) {
  if (owner === null) return '–'
  return (
    <Link to="/customers/$owner" params={{ owner }} title={owner}>
      {ownerName ?? owner}
    </Link>
  )
}

/** The customer of an endpoint; nothing for an endpoint without one. */
export function CustomerFact(customer: Customer) {
  return customer.owner === null ? null : (
    <Fact name="Customer">
      <CustomerLink {...customer} />
    </Fact>
  )
}
