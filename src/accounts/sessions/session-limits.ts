export interface SessionLimits {
  /** Milliseconds without use after which a session expires. */
  idle: number
  /** Milliseconds after which it expires in any case. */
  lifetime: number
  /** Sessions of a user at most, and as many token families. The least recently used ones are revoked first. */
  perUser: number
}

export function sessionLimits(settings: {
  sessionIdle: number
  sessionLifetime: number
  sessionsPerUser: number
}): SessionLimits {
  const { sessionIdle: idle, sessionLifetime: lifetime, sessionsPerUser: perUser } = settings
  return { idle, lifetime, perUser }
}
