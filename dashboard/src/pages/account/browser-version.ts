/** The more particular names first: Edge and Opera name Chrome too. */
const products = [
  'Edg[A-Za-z]*',
  'OPR',
  'SamsungBrowser',
  'Firefox',
  'FxiOS',
  'CriOS',
  '(?:Headless)?Chrome',
  'Version',
]
const patterns = products.map((product) => new RegExp(`\\b${product}/(\\d{1,4})\\b`))

/** The major version of a browser, such as `142`. */
export function browserVersion(userAgent: string | null): string | undefined {
  for (const pattern of patterns) {
    const version = pattern.exec(userAgent ?? '')?.[1]
    if (version !== undefined) return version
  }
  return undefined
}
