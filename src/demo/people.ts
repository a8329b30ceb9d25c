/** A person of the development provider. */
export interface Person {
  id: string
  name: string
  email: string | undefined
}

/** Sample people. The last one has no e-mail address, since many real providers return none. */
export const people: readonly Person[] = [
  { id: 'ada', name: 'Ada Lovelace', email: 'ada@demo.example' },
  { id: 'grace', name: 'Grace Hopper', email: 'grace@demo.example' },
  { id: 'alan', name: 'Alan Turing', email: 'alan@demo.example' },
  { id: 'katherine', name: 'Katherine Johnson', email: undefined },
]

const guestPrefix = 'guest.'
const longestName = 60

/** A person with any name. The id contains the name, so the same name is the same person after a restart. */
export function guest(name: string): Person | undefined {
  const trimmed = name.trim().replaceAll(/\s+/g, ' ').slice(0, longestName).toWellFormed()
  if (trimmed === '') return undefined
  const mailbox = trimmed
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '.')
    .replaceAll(/^\.|\.$/g, '')
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
