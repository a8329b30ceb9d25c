/** The file that `sqlite:FILE` or `sqlite:///FILE` names; `undefined` for any other URL. */
export function sqliteFileOf(url: string): string | undefined {
  return /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(url)?.[1]
}
