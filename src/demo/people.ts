/** Somebody whom the development provider vouches for. */
export interface Person {
  id: string
  name: string
  email: string | undefined
}

/** Sample people; the last one has no e-mail address, since many real providers give none. */
export const people: readonly Person[] = [
  { id: 'ada', name: 'Ada Lovelace', email: 'ada@demo.example' },
  { id: 'grace', name: 'Grace Hopper', email: 'grace@demo.example' },
  { id: 'alan', name: 'Alan Turing', email: 'alan@demo.example' },
  { id: 'katherine', name: 'Katherine Johnson', email: undefined },
]

const guestPrefix = 'guest.'
const longestName = 60

/** Somebody of any name. The id carries the name, so that the same name is the same person after a restart. */
export function guest(name: string): Person | undefined {
  const trimmed = name.trim().replaceAll(/\s+/g, ' ').slice(0, longestName).toWellFormed()
  if (trimmed === '') return undefined
  const mailbox = trimmed
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '.')
    .replaceAll(/^\.+|\.+$/g, '')
  return {
    id: guestPrefix + Buffer.from(trimmed).toString('base64url'),
    name: trimmed,
    email: mailbox === '' ? undefined : `${mailbox}@guests.demo.example`,
  }
}

export function findPerson(id: string): Person | undefined {
  if (id.startsWith(guestPrefix))
    return guest(Buffer.from(id.slice(guestPrefix.length), 'base64url').toString())
  return people.find((person) => person.id === id)
}
