/** A preset of an identity provider, and the settings that it needs beside the client's ID and secret. */
export interface ProviderPreset {
  label: string
  more?: readonly string[]
}

/** By the name in the settings. A test compares them with the presets of the service. */
export const providerPresets: Readonly<Record<string, ProviderPreset>> = {
  google: { label: 'Google' },
  github: { label: 'GitHub' },
  gitlab: { label: 'GitLab' },
  microsoft: { label: 'Microsoft' },
  apple: { label: 'Apple', more: ['TEAM_ID', 'KEY_ID', 'PRIVATE_KEY'] },
  facebook: { label: 'Facebook' },
  discord: { label: 'Discord' },
  slack: { label: 'Slack' },
  linkedin: { label: 'LinkedIn' },
  x: { label: 'X' },
  spotify: { label: 'Spotify' },
  twitch: { label: 'Twitch' },
  bitbucket: { label: 'Bitbucket' },
  amazon: { label: 'Amazon' },
  notion: { label: 'Notion' },
  okta: { label: 'Okta', more: ['DOMAIN'] },
  auth0: { label: 'Auth0', more: ['DOMAIN'] },
  keycloak: { label: 'Keycloak', more: ['BASE_URL', 'REALM'] },
  cognito: { label: 'Cognito', more: ['USER_POOL_ID'] },
  dropbox: { label: 'Dropbox' },
  reddit: { label: 'Reddit' },
}
