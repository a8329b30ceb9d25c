// The way in: the token stands behind the # of the link, opens it once, and is gone from the address before anything else.
import { send } from '../dashboard/api.js'
import { confirmed } from '../dashboard/confirmation.js'
import { show } from '../dashboard/work.js'

async function enter() {
  const token = location.hash.slice(1)
  if (!/^[\w-]{43}$/.test(token)) return
  history.replaceState(null, '', location.pathname)
  try {
    await send('POST', '/session', { token })
  } catch (error) {
    if (error.code !== 'other-portal-session') throw error
    const replace = await confirmed({
      question: 'Open another portal?',
      consequence: `${error.detail} Opening it signs you out of the portal that you have open.`,
      action: 'Open it',
      keep: 'Stay',
    })
    if (replace) await send('POST', '/session', { token, replace })
  }
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
