import { inPortal, read } from './api.js'

/**
 * The signed-in user; the page waits for it. `stepUp`: where an admin signs in with a second factor, if it is required and missing.
 */
export const { user: me, stepUp } = inPortal ? { user: { role: 'owner' } } : await read('/auth/session')

export const isAdmin = me.role === 'admin'
