// One line that says what runs now and how long it will take: rewritten in place at a terminal, else printed now and then.
export interface Progress {
  step: (what: string) => void
  end: () => void
}

const printEvery = 10_000

export function showProgress(name: string, { steps, seconds }: { steps: number; seconds: number }): Progress {
  const out = process.stderr
  const began = performance.now()
  let done = -1
  let printedAt = Number.NEGATIVE_INFINITY
  return {
    step(what) {
      done += 1
      const now = performance.now()
      const passed = (now - began) / 1000
      // The estimate counts less the more steps have shown how long they take.
      const share = done / steps
      const total = done <= 0 ? seconds : (1 - share) * seconds + share * (passed / share)
      const left = Math.max(1, Math.round(total - passed))
      const line = `${name}  ${done + 1}/${steps}  about ${left} s left  ${what}`
      if (out.isTTY) out.write(`\r\u001B[2K${line.slice(0, Math.max(20, out.columns - 1))}`)
      else if (now - printedAt >= printEvery) {
        printedAt = now
        out.write(`${line}\n`)
      }
    },
    end() {
      if (out.isTTY) out.write('\r\u001B[2K')
    },
  }
}
