// The way in: the token stands behind the # of the link, opens it once, and is gone from the address before anything else.
import { send } from '../dashboard/api.js'
import { show } from '../dashboard/work.js'

async function enter() {
  const token = location.hash.slice(1)
  if (!/^[\w-]{43}$/.test(token)) return
  history.replaceState(null, '', location.pathname)
  await send('POST', '/session', { token })
}

try {
  await enter()
  // What is shown belongs to the session, so it is loaded when there is one.
  await import('./pages.js')
} catch (error) {
  show(
    error.status === 401
      ? new Error(
          'This page opens by a link that works once, and for a short time. Please ask for a new one.',
        )
      : error,
  )
}
