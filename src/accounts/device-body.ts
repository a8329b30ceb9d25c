import { Type } from 'typebox'
import type { Device } from './devices.ts'

const Nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const Time = Type.String({ format: 'date-time' })
const DeviceBody = Type.Object({
  id: Type.String({ description: 'The id of the session; it is not the token.' }),
  kind: Type.Enum(['browser', 'app'], { description: 'A session of a browser, or the tokens of an app' }),
  current: Type.Boolean({ description: 'Whether it is the session of this call.' }),
  device: Type.String({ description: 'The browser and system, such as `Firefox on Linux`' }),
  app: Nullable('The client id of the app'),
  provider: Type.String({ description: 'The identity provider of the sign-in' }),
  address: Nullable('Where the sign-in came from'),
  userAgent: Nullable('What the browser called itself at the sign-in'),
  createdAt: Time,
  lastSeenAt: Time,
  expiresAt: Time,
})

export const DeviceList = Type.Object({ data: Type.Array(DeviceBody) })

/** A device in an answer: its times as ISO 8601. */
export function describeDevice({ createdAt, lastSeenAt, expiresAt, ...device }: Device) {
  return { ...device, createdAt: iso(createdAt), lastSeenAt: iso(lastSeenAt), expiresAt: iso(expiresAt) }
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
