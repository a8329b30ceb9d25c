import type { Adapter, AdapterPayload } from 'oidc-provider'

interface Entry {
  payload: AdapterPayload
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** The most entries. The oldest are removed first, which is harmless for a developer's few sign-ins. */
const most = 2_000

/**
 * Stores the development provider's codes and tokens in memory until they expire. It stores no sessions, so that each sign-in
 * asks for a person.
 */
export class ShortLivedStore {
  readonly #entries = new Map<string, Entry>()

  /** The adapter of oidc-provider for one kind of object (Session, AuthorizationCode, …). */
  adapter(kind: string): Adapter {
    const entries = this.#entries
    const keyOf = (id: string): string => `${kind}:${id}`
    const live = (key: string): AdapterPayload | undefined => {
      const entry = entries.get(key)
      if (!entry || entry.expiresAt > Date.now()) return entry?.payload
      entries.delete(key)
      return undefined
    }
    return {
      async upsert(id, payload, expiresIn) {
        if (kind === 'Session') return
        entries.delete(keyOf(id))
        entries.set(keyOf(id), { payload, expiresAt: Date.now() + (expiresIn || 3_600) * 1000 })
        for (const oldest of entries.keys()) {
          if (entries.size <= most) break
          entries.delete(oldest)
        }
      },
      find: async (id) => live(keyOf(id)),
      async findByUid(uid) {
        for (const key of entries.keys()) {
          const payload = key.startsWith(`${kind}:`) ? live(key) : undefined
          if (payload?.uid === uid) return payload
        }
        return undefined
      },
      findByUserCode: async () => undefined,
      async destroy(id) {
        entries.delete(keyOf(id))
      },
      async consume(id) {
        const payload = live(keyOf(id))
        if (payload) payload.consumed = Math.floor(Date.now() / 1000)
      },
      async revokeByGrantId(grantId) {
        for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key)
      },
    }
  }
}
