import { amazon } from './amazon.ts'
import { apple } from './apple.ts'
import { auth0 } from './auth0.ts'
import { bitbucket } from './bitbucket.ts'
import { cognito } from './cognito.ts'
import { discord } from './discord.ts'
import { dropbox } from './dropbox.ts'
import { facebook } from './facebook.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { google } from './google.ts'
import { keycloak } from './keycloak.ts'
import { linkedin } from './linkedin.ts'
import { microsoft } from './microsoft.ts'
import { notion } from './notion.ts'
import { okta } from './okta.ts'
import type { Preset } from './preset.ts'
import { reddit } from './reddit.ts'
import { slack } from './slack.ts'
import { spotify } from './spotify.ts'
import { twitch } from './twitch.ts'
import { x } from './x.ts'

/** The providers that a pair of client id and secret is enough for, by the name in the settings. */
export const presets: Readonly<Record<string, Preset>> = {
  google,
  github,
  gitlab,
  microsoft,
  apple,
  facebook,
  discord,
  slack,
  linkedin,
  x,
  spotify,
  twitch,
  bitbucket,
  amazon,
  notion,
  okta,
  auth0,
  keycloak,
  cognito,
  dropbox,
  reddit,
}
