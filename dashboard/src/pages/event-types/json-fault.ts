/** Why a text is not JSON; `undefined` if it is. */
export function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `Invalid JSON: ${(error as Error).message}`
  }
}
