/** The more particular names first: Edge and Opera name Chrome too. */
const patterns = [
  /\bEdg[A-Za-z]*\/(\d{1,4})\b/,
  /\bOPR\/(\d{1,4})\b/,
  /\bSamsungBrowser\/(\d{1,4})\b/,
  /\bFirefox\/(\d{1,4})\b/,
  /\bFxiOS\/(\d{1,4})\b/,
  /\bCriOS\/(\d{1,4})\b/,
  /\b(?:Headless)?Chrome\/(\d{1,4})\b/,
  /\bVersion\/(\d{1,4})\b/,
]

/** The major version of a browser, such as `142`. */
export function browserVersion(userAgent: string | null): string | undefined {
  for (const pattern of patterns) {
    const version = pattern.exec(userAgent ?? '')?.[1]
    if (version !== undefined) return version
  }
  return undefined
}
