/** What this library uses of a browser's page. */
interface Page {
  location: { href: string; assign(url: string): void }
  history: { replaceState(data: unknown, unused: string, url: string): void }
  sessionStorage: TextStorage
  localStorage: TextStorage
  navigator: {
    locks?: {
      request<T>(
        name: string,
        options: { ifAvailable?: boolean },
        run: (lock: object | null) => Promise<T>,
      ): Promise<T>
    }
  }
  addEventListener(type: 'storage', listener: (event: { key: string | null }) => void): void
  removeEventListener(type: 'storage', listener: (event: { key: string | null }) => void): void
}

export interface TextStorage {
  readonly length: number
  key(index: number): string | null
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** The globals of the page; typed here, so that the package compiles without the types of a browser. */
export const page = globalThis as unknown as Page

/** Milliseconds: another tab's `localStorage` may arrive in this one after its lock is released. */
const storageDelay = 50

/** Runs alone among all tabs of the origin, where the browser has locks; they exist on https and on localhost. */
export async function alone<T>(name: string, run: () => Promise<T>): Promise<T> {
  const { locks } = page.navigator
  if (!locks) return run()
  const first = await locks.request(name, { ifAvailable: true }, async (lock) =>
    lock === null ? undefined : { result: await run() },
  )
  if (first) return first.result
  return locks.request(name, {}, async () => {
    await new Promise((resolve) => setTimeout(resolve, storageDelay))
    return run()
  })
}
