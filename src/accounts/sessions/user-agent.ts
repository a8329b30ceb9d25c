import { storableText } from '../../storage/text.ts'

const longest = 512

/** The `User-Agent` of a request as it is stored: 512 characters at most. */
export function storableUserAgent(userAgent: string | undefined): string | null {
  return userAgent === undefined ? null : storableText(userAgent, longest)
}
