import { Type } from 'typebox'
import { DateTime, nullable, optionalText } from '../../http/schemas/schemas.ts'
import { pageParameters } from '../../paging/parameters.ts'
import { auditActions } from './audit-actions.ts'

const own = {
  id: Type.String(),
  at: DateTime,
  action: Type.String({ description: Object.keys(auditActions).join(', ') }),
  provider: nullable(Type.String(), 'The identity provider'),
  providerId: nullable(Type.String(), "The provider's id of the identity"),
  target: nullable(Type.String(), 'Another subject, as kind:id, such as session:… or subscriber:…'),
  code: nullable(Type.String(), 'The reason of a failure; null for successes'),
  supportId: nullable(
    Type.String(),
    'The id of the request. Its first eight characters are the reference ID that pages show, and its log lines contain it',
  ),
  address: nullable(Type.String(), 'The address of the client'),
  userAgent: nullable(Type.String(), 'The browser'),
}
/** An entry for the user whom it is about. */
export const OwnEntry = Type.Object({
  ...own,
  byMe: Type.Boolean({ description: 'Whether a credential of this account made the call' }),
})
/** An entry for admins. */
export const Entry = Type.Object({
  ...own,
  userId: nullable(Type.String(), 'The account that the entry is about'),
  userName: nullable(Type.String(), 'Its name, or its e-mail address'),
  actor: nullable(
    Type.String(),
    'The actor: user:…, key:…, owner:…, cli, schedule or service; null when it is unknown',
  ),
  actorName: nullable(Type.String(), 'The name of the user, API key or app'),
  targetName: nullable(
    Type.String(),
    'The name of the target, if it is a user, an API key, an app or a subscriber',
  ),
  sessionId: nullable(Type.String(), 'The session that made the call'),
  detail: nullable(Type.Record(Type.String(), Type.Unknown())),
})
export const auditFilters = {
  action: optionalText('One action'),
  failed: optionalText('true: only failures; false: only successes'),
  since: optionalText('At this time or later, ISO 8601'),
  until: optionalText('Before this time, ISO 8601'),
}
export const auditPaging = { ...auditFilters, ...pageParameters() }
