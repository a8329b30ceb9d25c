import type { Tokens } from '../oauth.ts'
import { page, type TextStorage } from './page.ts'

/** Where tokens are: in this page alone, in this tab over reloads, or in all tabs of the origin. */
export type Keep = 'memory' | 'session' | 'local'

export interface TokenStore {
  read(): Tokens | undefined
  write(tokens: Tokens | undefined): void
}

/** Scripts of the origin can read `session` and `local`; in memory they find tokens less easily. */
export function createTokenStore(keep: Keep, name: string): TokenStore {
  if (keep !== 'memory') return storedIn(keep === 'local' ? page.localStorage : page.sessionStorage, name)
  let held: Tokens | undefined
  return { read: () => held, write: (tokens) => void (held = tokens) }
}

function storedIn(storage: TextStorage, name: string): TokenStore {
  return {
    read() {
      const text = storage.getItem(name)
      return text === null ? undefined : (JSON.parse(text) as Tokens)
    },
    write(tokens) {
      if (tokens === undefined) storage.removeItem(name)
      else storage.setItem(name, JSON.stringify(tokens))
    },
  }
}
