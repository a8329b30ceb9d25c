import { storableText } from '../../storage/text.ts'

const longest = 512

/** The `User-Agent` of a request as it is stored: 512 characters at most. */
export function storableUserAgent(userAgent: string | undefined): string | null {
  return userAgent === undefined ? null : storableText(userAgent, longest)
}

/** The first match counts: a user agent also names the browsers that the browser descends from. */
const browsers: readonly [pattern: RegExp, name: string][] = [
  [/\bEdgA?(?:iOS)?\//, 'Edge'],
  [/\b(?:OPR|OPiOS|OPX)\//, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bYaBrowser\//, 'Yandex Browser'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bDuckDuckGo\/|\bDdg\//, 'DuckDuckGo'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bChromium\//, 'Chromium'],
  [/\bVersion\/[\d.]{1,20} (?:Mobile\/\S{1,20} )?Safari\//, 'Safari'],
  [/\bMSIE |\bTrident\//, 'Internet Explorer'],
  [/\bElectron\//, 'An app'],
  [/^curl\//, 'curl'],
  [/^PostmanRuntime\//, 'Postman'],
]

const systems: readonly [pattern: RegExp, name: string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
]

/**
 * Describes a user agent, such as `Firefox on Linux`, so that people recognize their devices. Clients can send any user
 * agent, so this is for display only.
 */
export function deviceName(userAgent: string | null): string {
  const { browser, system } = describeDevice(userAgent)
  if (browser && system) return `${browser} on ${system}`
  return browser ?? (system ? `A browser on ${system}` : 'Unknown device')
}

/** The names of the browser and the system, as far as they are known. */
export function describeDevice(userAgent: string | null): {
  browser: string | undefined
  system: string | undefined
} {
  const agent = userAgent ?? ''
  return { browser: firstMatch(browsers, agent), system: firstMatch(systems, agent) }
}

function firstMatch(names: readonly [RegExp, string][], userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1]
}
