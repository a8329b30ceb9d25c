import type { Role } from '../storage/tables.ts'
import { findPerson, guest, type Person } from './people.ts'

/** A browser that a sample person signs in with. */
export interface SampleDevice {
  userAgent: string
  address: string
  /** Hours between two sign-ins, about. */
  every: number
  /** Hours since it was last used. */
  seen: number
  /** Whether its last sign-in was ended. */
  signedOut?: true
}

/** A person who has used the service before the newcomer. */
export interface SampleAccount {
  person: Person
  /** Days since the first sign-in. */
  joined: number
  /** Of the row: `ADMIN_IDENTITIES` makes others admins. */
  role: Role
  devices: readonly SampleDevice[]
  /** Days since the account was blocked. */
  blocked?: number
  /** A second identity, and the days since it was linked. */
  second?: { person: Person; linked: number }
}

const [linux, windows, mac, phone, android, tablet] = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (iPad; CPU OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1',
] as const

/** The people of demo mode, the oldest account first. Addresses are those that RFC 5737 reserves for examples. */
export const sampleAccounts: readonly SampleAccount[] = [
  {
    person: findPerson('ada')!,
    joined: 29,
    role: 'user',
    devices: [
      { userAgent: linux, address: '203.0.113.7', every: 14, seen: 3 },
      { userAgent: phone, address: '198.51.100.24', every: 45, seen: 20 },
    ],
  },
  {
    person: findPerson('grace')!,
    joined: 27,
    role: 'admin',
    devices: [
      { userAgent: mac, address: '203.0.113.41', every: 11, seen: 1 },
      { userAgent: tablet, address: '198.51.100.80', every: 35, seen: 31 },
    ],
    second: { person: guest('Grace at work')!, linked: 9 },
  },
  {
    person: findPerson('alan')!,
    joined: 26,
    role: 'user',
    devices: [
      { userAgent: windows, address: '192.0.2.15', every: 10, seen: 5 },
      { userAgent: android, address: '198.51.100.131', every: 30, seen: 122, signedOut: true },
    ],
  },
  {
    person: findPerson('katherine')!,
    joined: 21,
    role: 'user',
    devices: [{ userAgent: linux, address: '192.0.2.90', every: 17, seen: 28 }],
  },
  {
    person: guest('Charles Babbage')!,
    joined: 18,
    role: 'user',
    devices: [{ userAgent: windows, address: '192.0.2.200', every: 7, seen: 73 }],
    blocked: 3,
  },
  {
    person: guest('Emmy Noether')!,
    joined: 12,
    role: 'user',
    devices: [
      { userAgent: mac, address: '203.0.113.118', every: 9, seen: 0.4 },
      { userAgent: phone, address: '198.51.100.9', every: 20, seen: 11 },
    ],
  },
  {
    person: guest('Mary Somerville')!,
    joined: 2,
    role: 'user',
    devices: [{ userAgent: android, address: '203.0.113.77', every: 6, seen: 8 }],
  },
]
