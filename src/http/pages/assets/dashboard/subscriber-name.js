import { inPortal, read } from './api.js'
import { isAdmin } from './session.js'

const names = new Map()

/** What to call a subscriber; only admins and its owner may ask. */
export function subscriberName(id) {
  if (!isAdmin && !inPortal) return id
  let name = names.get(id)
  if (!name) names.set(id, (name = ask(id)))
  return name
}

async function ask(id) {
  try {
    const { url } = await read(`/subscribers/${id}`)
    return url
  } catch (error) {
    // It was removed: its id is all that is left of it.
    if (error.status === 404) return id
    throw error
  }
}
