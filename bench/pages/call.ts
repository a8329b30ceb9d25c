/** A call that pages make, with addresses that are requested in turn. */
export interface PageCall {
  name: string
  paths: readonly string[]
  /** Milliseconds for which the service gives the same answer again. It is measured after that. */
  cachedFor?: number
}

/** Addresses of one call. */
const kinds = 50

export function times(address: (index: number) => string, count = kinds): string[] {
  return Array.from({ length: count }, (_, index) => address(index))
}

export const isoTime = (time: number): string => new Date(time).toISOString()

export const rangeHours = { '1h': 1, '6h': 6, '24h': 24, '7d': 168, '30d': 720 }
