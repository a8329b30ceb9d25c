// A picture of an interface has few colours that matter: with 256 it takes half of the bytes. Reads what Chromium writes (8 bits a
// channel, not interlaced), and writes a palette.
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const signature = Buffer.from('\u0089PNG\r\n\u001A\n', 'latin1')

interface Picture {
  width: number
  height: number
  /** Three bytes for each pixel. */
  pixels: Buffer
}

/** @returns the same picture with at most 256 colours */
export function withFewColours(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const counts = new Map<number, number>()
  for (let at = 0; at < pixels.length; at += 3) {
    const colour = pixels.readUIntBE(at, 3)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const byUse = [...counts].toSorted(([, a], [, b]) => b - a).map(([colour]) => colour)
  const palette = byUse.slice(0, 256)
  const index = new Map(palette.map((colour, at) => [colour, at]))
  for (const colour of byUse.slice(256)) index.set(colour, nearest(colour, palette))
  // Each row begins with its filter: none, which suits a palette.
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      rows[y * (width + 1) + x + 1] = index.get(pixels.readUIntBE((y * width + x) * 3, 3))!
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3], 8)
  const colours = Buffer.alloc(palette.length * 3)
  for (const [at, colour] of palette.entries()) colours.writeUIntBE(colour, at * 3, 3)
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function nearest(colour: number, palette: readonly number[]): number {
  let best = 0
  let least = Infinity
  for (const [at, other] of palette.entries()) {
    let distance = 0
    for (const shift of [0, 8, 16]) distance += (((colour >> shift) & 255) - ((other >> shift) & 255)) ** 2
    if (distance < least) [best, least] = [at, distance]
  }
  return best
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(body.length + 8)
  frame.writeUInt32BE(data.length, 0)
  body.copy(frame, 4)
  frame.writeUInt32BE(crc32(body), body.length + 4)
  return frame
}

function decode(png: Buffer): Picture {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  const channels = png[25] === 6 ? 4 : 3
  const parts: Buffer[] = []
  for (let at = signature.length; at < png.length; at += png.readUInt32BE(at) + 12)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const rows = inflateSync(Buffer.concat(parts))
  const stride = width * channels
  for (let y = 0; y < height; y++) unfilter(rows, y, stride, channels)
  const pixels = Buffer.alloc(width * height * 3)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      rows.copy(
        pixels,
        (y * width + x) * 3,
        y * (stride + 1) + 1 + x * channels,
        y * (stride + 1) + 4 + x * channels,
      )
  return { width, height, pixels }
}

/** Undoes the prediction of a row from its left and upper neighbours (PNG, section 9). */
function unfilter(rows: Buffer, y: number, stride: number, channels: number): void {
  const start = y * (stride + 1) + 1
  const filter = rows[start - 1]!
  for (let x = 0; x < stride; x++) {
    const at = start + x
    const left = x < channels ? 0 : rows[at - channels]!
    const up = y === 0 ? 0 : rows[at - stride - 1]!
    const corner = x < channels || y === 0 ? 0 : rows[at - stride - 1 - channels]!
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!
    rows[at] = (rows[at]! + guess) & 255
  }
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  if (a <= b && a <= c) return left
  return b <= c ? up : corner
}
