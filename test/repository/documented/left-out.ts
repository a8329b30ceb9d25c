/** Commands of pages that no test runs, by what they need. A block with one of them is only parsed, and its names are checked. */
const leftOut: Readonly<Record<string, RegExp>> = {
  'installs packages':
    /^(?:npm (?:init|install|create|ci|update|pack|run -s (?:postern -- init|vendor))\b|pip |python3 -m (?:pip|venv)|bundle |go (?:mod|get) |apt |npx sv )/,
  'starts a program that stays':
    /\b(?:postern (?:serve|listen|tail|dev)|npm start|npm run (?:dev|dashboard)|caddy run|next dev|esbuild|nats-server|stripe listen|rails server)\b|^(?:\w+=\S+ )*(?:node |haproxy |\.venv)/,
  'needs a container engine, a cluster or an init system':
    /^(?:docker|kubectl|systemctl|journalctl|systemd-analyze) /,
  'needs the servers of its page':
    /^(?:patronictl|pg_dropcluster|sudo|rsync) |(?:^| )\/(?:etc|opt|var|backups)\/| -p 5000 |^(?:curl|npx postern-client)(?: -\S+| '[^']*')* https:/,
  'has a value that the reader fills in': /…|\b(?:VERSION|USER|PASSWORD)\b|\$ACCESS_TOKEN/,
  'takes minutes': /^npm (?:test|run (?:chaos|bench))\b/,
}

/** @returns why no test runs a line of a shell, if none does */
export const whyLeftOut = (line: string): string | undefined =>
  Object.entries(leftOut).find(([, pattern]) => pattern.test(line))?.[0]
