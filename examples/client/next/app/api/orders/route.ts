import { withUser } from 'postern-client/next'
import { postern } from '../../../lib/postern.ts'

/** GET /api/orders: the signed-in user's own orders. */
export const GET = withUser(postern, (_request, { user }) => Response.json({ owner: user.id, data: [] }))

/** DELETE /api/orders: for admins only. */
export const DELETE = withUser(postern, () => new Response(null, { status: 204 }), { role: 'admin' })
