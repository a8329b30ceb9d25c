import { formType, hmacOf, secondsOf, splitType, type SignSample } from './sample.ts'

/** Slack's Events API, or a slash command for `slash_command.NAME`. https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const slack: SignSample = ({ type, secret, id, now, data }) => {
  const [kind, command] = splitType(type)
  const isCommand = kind === 'slash_command' && command !== undefined
  const body = isCommand
    ? new URLSearchParams({ command: `/${command}`, text: JSON.stringify(data), trigger_id: id }).toString()
    : JSON.stringify({ type: 'event_callback', event_id: `Ev${id}`, event: { type, sample: data } })
  const time = String(secondsOf(now))
  return {
    body,
    headers: {
      ...(isCommand && formType),
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${hmacOf(secret, `v0:${time}:${body}`)}`,
    },
  }
}
