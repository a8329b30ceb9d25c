import { Type, type Static } from 'typebox'
import { Problem } from '../../errors.ts'
import type { Principal } from '../../http/access/principal.ts'
import { NullableText, optionalText } from '../../http/schemas/schemas.ts'
import type { Database } from '../../storage/database.ts'
import type { Users } from '../users/users.ts'

const subject = Type.String({ description: 'The user id, under its name in OpenID Connect' })

const User = Type.Object({
  id: Type.String(),
  sub: subject,
  email: NullableText,
  email_verified: Type.Boolean({
    description: 'Whether a provider of this user asserts that this e-mail address belongs to the person',
  }),
  name: NullableText,
  picture: NullableText,
  role: Type.Enum(['user', 'admin']),
})

export const CurrentSession = Type.Object({
  sub: subject,
  user: User,
  session: Type.Object({ id: Type.String(), kind: Type.Enum(['session', 'token']) }),
  stepUp: optionalText(
    'For an admin without the required second factor (`ADMIN_MFA`): where to sign in with one',
  ),
})

/** What GET /auth/session answers. @throws Problem `not-signed-in` */
export function sessionDescriber({ users, database }: { users: Users; database: Database }) {
  return async (principal: Principal | undefined): Promise<Static<typeof CurrentSession>> => {
    if (!principal?.userId) throw new Problem('not-signed-in')
    const { kind, userId, sessionId, role, stepUp } = principal
    const profile = await users.profile(database.reader, userId)
    if (!profile || kind === 'key' || kind === 'portal' || sessionId === undefined)
      throw new Problem('not-signed-in')
    // The role is the credential's: an app may have fewer rights than its user.
    const { id, email, emailVerified, name, picture } = profile
    return {
      sub: id,
      user: { id, sub: id, email, email_verified: emailVerified, name, picture, role },
      session: { id: sessionId, kind },
      ...(stepUp && { stepUp: stepUp.path }),
    }
  }
}
