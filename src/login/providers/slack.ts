import type { Preset } from './preset.ts'

const teamId = 'https://slack.com/team_id'

/** OpenID Connect. `team` is a wish in the request, so the claim is what counts. Errors come with status 200. */
export const slack: Preset = {
  label: 'Slack',
  colour: '#4a154b',
  documentation: ['https://docs.slack.dev/authentication/sign-in-with-slack/'],
  settings: {
    TEAM: {
      description: 'Only members of the workspace with this id (`T…`) may sign in.',
      optional: true,
      form: 'word',
    },
  },
  addresses: () => ({ issuer: 'https://slack.com' }),
  scope: 'openid profile email',
  authParams: (own) => (own('TEAM') === '' ? {} : { team: own('TEAM') }),
  admits: (claims, own) => own('TEAM') === '' || claims[teamId] === own('TEAM'),
}
