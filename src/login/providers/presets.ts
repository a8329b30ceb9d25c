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

/** The presets by their names in the settings. They need only a client id and a secret, and some a few own settings. */
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
