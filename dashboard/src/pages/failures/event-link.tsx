import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** A link to the page of an event, by its number in the log. */
export const EventLink = ({ id, children }: { id: number; children: ReactNode }) => (
  <Link
    to="/events/$id"
    params={{ id: String(id) }}
    className="inline-block max-w-full truncate align-bottom text-accent hover:underline"
  >
    {children}
  </Link>
)
