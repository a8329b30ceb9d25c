import type { AnswerOf } from './answers.ts'

export type Session = AnswerOf<'GET /auth/session'>

/** What the service writes into the page, so that the first view needs no call to learn it. */
export interface Boot {
  /** The path that the service is below: `''` or such as `/gate`. */
  basePath: string
  /** Whether the service runs in demo mode. */
  demo: boolean
  version: string
  /** The command line of this installation, such as `npx postern`; missing in the portal and under the development server. */
  command?: string
  /** In the portal: the name and the logo of the installation. */
  brand?: { name: string; logo: string }
  /** In the portal: the brand of the owner who is signed in. */
  ownerBrand?: AnswerOf<'GET /portal/session'>['brand']
  /** The signed-in person; missing under the development server, which does not write this part. */
  session?: Session
}

const text = document.getElementById('boot')?.textContent

export const boot: Boot = text ? (JSON.parse(text) as Boot) : { basePath: '', demo: true, version: '' }

/** A command of `postern` as it runs where the service was installed. */
export const commandLine = (rest: string): string => `${boot.command ?? 'npm run postern --'} ${rest}`
