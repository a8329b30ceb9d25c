import { inPortal, read } from './api.js'

/** Who looks at this page. Everything else here waits for the answer, since what is shown depends on it. */
export const { user: me } = inPortal ? { user: { role: 'owner' } } : await read('/auth/session')

export const isAdmin = me.role === 'admin'
