import type { Adapter, AdapterPayload } from 'oidc-provider'

interface Entry {
  payload: AdapterPayload
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** Entries at most; the oldest go first. A developer's sign-ins are few, and nothing here is worth keeping. */
const most = 2_000

/**
 * Where the development provider keeps its codes and the like: in memory, for as long as they are good. It keeps no
 * sessions: it remembers nobody, so that everybody can be somebody else the next time.
 */
export class ShortLivedStore {
  readonly #entries = new Map<string, Entry>()

  /** One kind of thing (Session, AuthorizationCode, …), as oidc-provider asks for it. */
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
