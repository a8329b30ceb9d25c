// Draws a recording as an SVG that plays once: text, and styles that make it visible at its time. No script, nothing from elsewhere.
import type { Recording, Scene } from './recording.ts'

/** A reader need not wait as long as npm does: gaps that are longer are cut to this. */
const LONGEST_GAP = 1
/** Seconds. */
const TYPING = 0.03
const READING = 1.4
/** For each line that came at last and is seen. */
const READING_A_LINE = 0.2
const CHARACTER = 8.7
const LINE = 20
const HEADER = 36
const MARGIN = 16

interface Shown {
  text: string
  at: number
  /** A command: `at` is the time of its first character, this of its last. */
  typed?: number
}

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const inRows = (text: string, columns: number): string[] =>
  text.length <= columns ? [text] : [text.slice(0, columns), ...inRows(text.slice(columns), columns)]

/** The lines of a scene with the times of the picture. @returns also when the scene has ended */
function timed(scene: Scene, start: number, { columns, rows }: Recording): { lines: Shown[]; end: number } {
  const lines: Shown[] = []
  let now = start
  for (const { command, lines: printed } of scene.steps) {
    for (const row of inRows(`$ ${command}`, columns)) {
      const typed = now + row.length * TYPING
      lines.push({ text: row, at: now, typed })
      now = typed
    }
    let before = 0
    for (const { at, text } of printed) {
      now += Math.min(at - before, LONGEST_GAP)
      before = at
      for (const row of inRows(text, columns)) lines.push({ text: row, at: now })
    }
    now += READING + Math.min(printed.length, rows) * READING_A_LINE
  }
  return { lines, end: now + READING }
}

/** The picture of a recording. Without motion, and at its end, it shows the last scene. */
export function draw(recording: Recording): string {
  const { title, columns, rows, scenes } = recording
  const width = Math.ceil(columns * CHARACTER + 2 * MARGIN)
  const height = HEADER + rows * LINE + MARGIN
  const played: { scene: Scene; lines: Shown[]; start: number; end: number }[] = []
  for (const scene of scenes) {
    const start = played.at(-1)?.end ?? 0.5
    played.push({ scene, start, ...timed(scene, start, recording) })
  }
  const groups = played.map(({ scene, lines, start, end }, index) => {
    const isLast = index === played.length - 1
    const hide = isLast ? '' : `,hide 1ms ${seconds(end)} forwards`
    return `<g class="${isLast ? 's' : 's gone'}" style="animation:show 1ms ${seconds(start)} both${hide}">
<text class="t" x="${width / 2}" y="23">${escape(scene.title)}</text>
<svg y="${HEADER}" width="${width}" height="${rows * LINE}"><g${scrolling(lines, rows)}>
${lines.map((line, row) => drawLine(line, row)).join('\n')}
</g></svg></g>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title" xml:space="preserve">
<title id="title">${escape(title)}</title>
<style>${style}${movements(groups)}
</style>
<rect class="w" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
<g class="d"><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/></g>
<g id="still">
${groups.join('\n')}
</g>
</svg>
`
}

const seconds = (time: number): string => `${Number(time.toFixed(2))}s`

function drawLine({ text, at, typed }: Shown, row: number): string {
  if (text.trim() === '') return ''
  const where = `x="${MARGIN}" y="${row * LINE + 15}"`
  const when = `style="animation-delay:${seconds(at)}`
  if (typed === undefined) return `<text ${where} ${when}">${escape(text)}</text>`
  const prompt = text.startsWith('$ ') ? '<tspan>$ </tspan>' : ''
  const letters = `animation-duration:${seconds(typed - at)};animation-timing-function:steps(${text.length})`
  return `<text class="c" ${where} ${when};${letters}">${prompt}${escape(text.slice(prompt ? 2 : 0))}</text>`
}

/** Moves the lines up as soon as one would be below the last row. Without motion they are where they are at the end. */
function scrolling(lines: readonly Shown[], rows: number): string {
  const last = lines.length - rows
  if (last <= 0) return ''
  const moves = lines.flatMap(({ at }, row) => {
    const up = row + 1 - rows
    // Of several lines that come together, the last.
    return up <= 0 || lines[row + 1]?.at === at ? [] : [`up${up} 1ms ${seconds(at)} forwards`]
  })
  const animation = ['up0 1ms both', ...moves].join(',')
  return ` style="transform:translateY(-${last * LINE}px);animation:${animation}"`
}

/** The movements that `scrolling` names. */
const movements = (groups: readonly string[]): string =>
  [...new Set(groups.join('').match(/\bup\d+/g))]
    .map((name) => `@keyframes ${name}{from,to{transform:translateY(-${Number(name.slice(2)) * LINE}px)}}`)
    .join('\n')

const style = `
text{font:14px ui-monospace,'SF Mono','Cascadia Mono',Menlo,'DejaVu Sans Mono',monospace;fill:#25302d;white-space:pre;animation:show 1ms both}
.t{font:13px system-ui,sans-serif;fill:#5a6663;text-anchor:middle;animation:none}
.c{font-weight:600;animation-name:type}
.c tspan{fill:#1d6a58}
.w{fill:#fafbfa;stroke:#c9d2cf}
.d{fill:#c9d2cf}
.gone{opacity:0}
@media (prefers-color-scheme:dark){text{fill:#d9e1de}.t{fill:#9aa6a2}.c tspan{fill:#58b99f}.w{fill:#151a19;stroke:#3a4643}.d{fill:#3a4643}}
@keyframes show{from{opacity:0}to{opacity:1}}
@keyframes hide{from{opacity:1}to{opacity:0}}
@keyframes type{from{clip-path:inset(0 100% 0 0)}to{clip-path:inset(0)}}
#still:target *{animation:none!important}
@media (prefers-reduced-motion:reduce){*{animation:none!important}}
`
