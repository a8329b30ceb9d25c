import { inPortal, read } from './api.js'

/** Who looks at this page. Everything else here waits for the answer, since what is shown depends on it. */
/** `stepUp`: where an admin signs in with a second factor, when one is demanded and was not shown. */
export const { user: me, stepUp } = inPortal ? { user: { role: 'owner' } } : await read('/auth/session')

export const isAdmin = me.role === 'admin'
