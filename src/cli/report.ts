import { printableLines } from '../telemetry/printable.ts'
import { exitCodes } from './command-failure.ts'
import { coloured, isJson, print } from './output.ts'
import type { Finding } from '../diagnostics/finding.ts'

const signs = {
  ok: coloured('green', '✔'),
  warning: coloured('yellow', '!'),
  fault: coloured('red', '✖'),
}

/** Prints findings as they come, and how many are to be mended; with `--json` all of them at the end. Sets the exit code. */
export class Report {
  readonly #findings: Finding[] = []

  tell(findings: Iterable<Finding>): void {
    for (const finding of findings) {
      this.#findings.push(finding)
      const { state, about, text, advice } = finding
      const sentence = advice === undefined ? text : `${text}: ${advice}`
      if (!isJson()) process.stdout.write(`${signs[state]} ${printableLines(`${about}: ${sentence}`)}\n`)
    }
  }

  end(): void {
    const faults = this.#findings.filter(({ state }) => state === 'fault').length
    print(
      { findings: this.#findings, faults },
      faults === 0 ? 'no faults\n' : `${faults} ${faults === 1 ? 'fault' : 'faults'}\n`,
    )
    if (faults > 0) process.exitCode = exitCodes.failed.code
  }
}
