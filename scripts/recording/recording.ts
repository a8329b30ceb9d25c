/** One line that a terminal shows, and when: in seconds from the start of its scene. */
export interface Line {
  at: number
  text: string
}

/** A command as it is typed, and what it prints. */
export interface Step {
  command: string
  lines: Line[]
}

/** A terminal with its title; scenes follow each other. */
export interface Scene {
  title: string
  steps: Step[]
}

/** What the service really printed, with the real times. `docs/recordings/` holds one. */
export interface Recording {
  title: string
  columns: number
  rows: number
  scenes: Scene[]
}
